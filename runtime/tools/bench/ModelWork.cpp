#include "runtime/tools/bench/ModelWork.h"

#include <algorithm>

namespace inf {
namespace {

// The manifest's counts are at most 2^32 and its sizes 2^50, both checked: sums over weights and
// products with a step's rows stay below 2^64 for all models that fit a machine; a damaged manifest
// can make a number wrong here, never an access.
uint64_t macsOf(const WeightDecl &decl) { return decl.rows * decl.columns; }

bool isHead(const Manifest &manifest, const WeightDecl &decl) {
  return decl.rows == manifest.vocabulary && decl.columns == manifest.hidden;
}

void addExperts(ModelWork &work, const PackedWeight &weight) {
  work.experts = weight.decl.experts;
  work.expertBytes += weight.bytes / weight.decl.experts;
  if (!weight.decl.isVector())
    work.expertMacs += macsOf(weight.decl);
}

/// What bytesPerToken leaves when everything but the experts is taken away, over one expert each.
std::optional<uint64_t> chosenExperts(const ModelWork &work, uint64_t otherBytes) {
  if (work.experts == 0 || work.expertBytes == 0 || work.bytesPerToken < otherBytes)
    return std::nullopt;
  const uint64_t rest = work.bytesPerToken - otherBytes;
  const uint64_t chosen = rest / work.expertBytes;
  if (rest % work.expertBytes != 0 || chosen < 1 || chosen > work.experts)
    return std::nullopt;
  return chosen;
}

bool sameExpertCount(const Manifest &manifest, uint64_t experts) {
  return std::all_of(manifest.weights.begin(), manifest.weights.end(), [&](const auto &weight) {
    return weight.decl.experts == 1 || weight.decl.experts == experts;
  });
}

} // namespace

ModelWork modelWork(const Manifest &manifest) {
  ModelWork work;
  work.bytesPerToken = manifest.bytesPerToken;
  uint64_t otherBytes = 0;
  for (const PackedWeight &weight : manifest.weights) {
    const WeightDecl &decl = weight.decl;
    if (decl.experts > 1) {
      addExperts(work, weight);
    } else if (weight.spec.layout == PackedLayout::Rows) {
      work.embeddingRowBytes += weight.bytes / decl.rows;
      otherBytes += weight.bytes / decl.rows;
    } else {
      otherBytes += weight.bytes;
      const bool head = !decl.isVector() && isHead(manifest, decl);
      work.headBytes += head ? weight.bytes : 0;
      if (!decl.isVector())
        (head ? work.headMacs : work.denseMacs) += macsOf(decl);
    }
  }
  if (sameExpertCount(manifest, work.experts))
    work.chosen = chosenExperts(work, otherBytes);
  return work;
}

WeightTraffic weightTraffic(const ModelWork &work, StepRows step,
                            std::optional<uint64_t> countedExpertBytes) {
  uint64_t bytes = work.bytesPerToken + (step.rows - 1) * work.embeddingRowBytes;
  if (step.outputs == 0)
    bytes -= std::min(bytes, work.headBytes);
  if (work.experts == 0 || step.rows == 1)
    return {bytes, true};
  const uint64_t chosen = work.chosen.value_or(work.experts);
  if (countedExpertBytes && work.chosen)
    return {bytes - *work.chosen * work.expertBytes + *countedExpertBytes, true};
  const uint64_t touched =
      chosen > work.experts / step.rows ? work.experts : chosen * step.rows; // their least
  return {bytes + (std::max(touched, chosen) - chosen) * work.expertBytes, false};
}

std::optional<uint64_t> multiplyAccumulates(const ModelWork &work, StepRows step) {
  if (work.experts != 0 && !work.chosen)
    return std::nullopt;
  return step.rows * (work.denseMacs + work.chosen.value_or(0) * work.expertMacs) +
         step.outputs * work.headMacs;
}

uint64_t kvBytesOfStep(const inf_model &model, uint64_t first, uint64_t rows) {
  uint64_t total = 0;
  for (uint32_t g = 0; g < model.kv_groups; ++g) {
    const inf_kv_group &group = model.kv_group[g];
    uint64_t keys = first + rows;
    if (group.window != 0)
      keys = std::min<uint64_t>(keys, group.window + rows - 1);
    const uint64_t element = group.element == INF_ELEMENT_F32 ? 4 : 2;
    total += keys * group.slots * group.kv_heads * group.head_dim * element * 2;
  }
  return total;
}

} // namespace inf
