#include "runtime/tools/bench/ExpertCounter.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>

namespace inf {
namespace {

/// 3 of "layers.3.experts.up.weight".
std::optional<int64_t> layerOf(std::string_view weight) {
  constexpr std::string_view prefix = "layers.";
  if (!weight.starts_with(prefix))
    return std::nullopt;
  int64_t layer = -1;
  const char *end = weight.data() + weight.size();
  const auto [rest, error] = std::from_chars(weight.data() + prefix.size(), end, layer);
  if (error != std::errc{} || rest == end || *rest != '.' || layer < 0)
    return std::nullopt;
  return layer;
}

struct Experts {
  std::map<int64_t, uint64_t> bytesOfOne; ///< by layer
  uint64_t count = 0;                     ///< of a layer
};

/// nullopt: none, or not the same number everywhere, or of no layer.
std::optional<Experts> expertsOf(const Manifest &manifest) {
  Experts experts;
  for (const PackedWeight &weight : manifest.weights) {
    if (weight.decl.experts == 1)
      continue;
    const std::optional<int64_t> layer = layerOf(weight.decl.name);
    if (!layer || (experts.count != 0 && experts.count != weight.decl.experts))
      return std::nullopt;
    experts.count = weight.decl.experts;
    experts.bytesOfOne[*layer] += weight.bytes / weight.decl.experts;
  }
  return experts.count == 0 ? std::nullopt : std::optional(experts);
}

/// The only integers that a stage leaves are experts' numbers.
const StageOutput *choiceOf(const Stage &stage) {
  const auto found =
      std::find_if(stage.outputs.begin(), stage.outputs.end(), [](const StageOutput &output) {
        return output.type == "i32" && !output.outputRows && output.offset >= 0;
      });
  return found == stage.outputs.end() ? nullptr : &*found;
}

} // namespace

std::optional<ExpertCounter> ExpertCounter::create(const Manifest &manifest) {
  std::optional<Experts> experts = expertsOf(manifest);
  if (!experts)
    return std::nullopt;
  std::vector<Choice> choices;
  for (size_t i = 0; i < manifest.stages.size(); ++i) {
    const StageOutput *choice = choiceOf(manifest.stages[i]);
    const auto layer = experts->bytesOfOne.find(manifest.stages[i].layer);
    if (!choice || layer == experts->bytesOfOne.end())
      continue;
    choices.push_back({i, *choice, layer->second});
    experts->bytesOfOne.erase(layer); // one choice a layer
  }
  if (!experts->bytesOfOne.empty())
    return std::nullopt;
  return ExpertCounter(std::move(choices), manifest.stages.size(), experts->count);
}

ExpertCounter::ExpertCounter(std::vector<Choice> all, size_t stageCount, uint64_t experts)
    : choices(std::move(all)), stages(stageCount), seen(experts) {}

BarrierHook ExpertCounter::hook() {
  BarrierHook hook;
  hook.state = this;
  hook.complete = [](void *self, const inf_step &step) {
    static_cast<ExpertCounter *>(self)->complete(step);
  };
  return hook;
}

void ExpertCounter::complete(const inf_step &step) {
  if (next < choices.size() && choices[next].stage == at) {
    bytes += distinct(choices[next].output, step) * choices[next].expertBytes;
    ++next;
  }
  if (++at == stages) // the step ends here
    at = next = 0;
}

uint64_t ExpertCounter::distinct(const StageOutput &output, const inf_step &step) {
  std::fill(seen.begin(), seen.end(), false);
  uint64_t count = 0;
  for (uint64_t i = 0; i < step.rows * output.vectors; ++i)
    for (uint64_t k = 0; k < output.features; ++k) {
      int32_t expert;
      std::memcpy(&expert, step.arena + output.offset + i * output.vectorBytes() + k * 4, 4);
      if (expert < 0 || static_cast<uint64_t>(expert) >= seen.size()) {
        broken = true;
        continue;
      }
      count += !seen[static_cast<size_t>(expert)];
      seen[static_cast<size_t>(expert)] = true;
    }
  return count;
}

std::optional<uint64_t> ExpertCounter::take() {
  const bool whole = !broken && at == 0;
  const uint64_t taken = bytes;
  at = next = 0;
  bytes = 0;
  broken = false;
  return whole ? std::optional(taken) : std::nullopt;
}

} // namespace inf
