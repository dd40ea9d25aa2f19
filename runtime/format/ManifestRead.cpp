#include <set>

#include <fmt/format.h>

#include "runtime/format/Checked.h"
#include "runtime/format/Manifest.h"
#include "runtime/format/StrictJson.h"
#include "runtime/format/Versions.h"

namespace inf {
namespace {

// Far above any machine, and low enough that a product of a count and a small factor, or a sum of
// sizes, can't wrap in the code that uses them.
constexpr uint64_t largestCount = uint64_t(1) << 32;
constexpr uint64_t largestBytes = uint64_t(1) << 50;

WeightFormat formatOf(ObjectReader &reader, const char *key) {
  const std::string name = reader.string(key);
  if (auto format = weightFormatByName(name))
    return *format;
  reader.refuse(key,
                fmt::format("'{}', expected one of {}", name, fmt::join(weightFormatNames, ", ")));
}

PackedLayout layoutOf(ObjectReader &reader, const char *key) {
  const std::string name = reader.string(key);
  if (auto layout = packedLayoutByName(name))
    return *layout;
  reader.refuse(
      key,
      fmt::format("'{}', expected vector, vector_pairs, rows, panel16 or panel16_pairs", name));
}

WeightPart readPart(ObjectReader reader) {
  WeightPart part;
  part.tensor = reader.string("tensor");
  part.scales = reader.string("scales");
  part.stored = formatOf(reader, "stored");
  part.rows = reader.unsignedInteger("rows");
  part.transposed = reader.boolean("transposed");
  part.interleaved = reader.boolean("interleaved");
  reader.expectNothingElse();
  return part;
}

/// `end`: where the weight before it ends.
void checkPlace(const ObjectReader &reader, const PackedWeight &weight, uint64_t end,
                uint64_t weightsBytes) {
  const uint64_t expected = packedBytes(weight.decl, weight.spec);
  if (weight.bytes != expected)
    reader.refuse("bytes", fmt::format("{}, expected {} for its shape, format and layout",
                                       weight.bytes, expected));
  if (weight.offset % weightAlignment != 0)
    reader.refuse("offset",
                  fmt::format("{}, expected a multiple of {}", weight.offset, weightAlignment));
  if (weight.offset < end)
    reader.refuse("offset", fmt::format("{} overlaps the weight before it, expected at least {}",
                                        weight.offset, end));
  if (!rangeInside(weight.offset, weight.bytes, weightsBytes))
    reader.refuse("offset", fmt::format("{} + {} bytes, expected an end within weights_bytes = {}",
                                        weight.offset, weight.bytes, weightsBytes));
}

PackedWeight readWeight(ObjectReader &reader) {
  PackedWeight weight;
  weight.decl.name = reader.string("name");
  weight.decl.experts = reader.unsignedInteger("experts");
  weight.decl.rows = reader.unsignedInteger("rows");
  weight.decl.columns = reader.unsignedInteger("columns");
  weight.spec.format = formatOf(reader, "format");
  weight.spec.layout = layoutOf(reader, "layout");
  weight.offset = reader.unsignedInteger("offset");
  weight.bytes = reader.unsignedInteger("bytes");
  weight.formatFrom = reader.string("format_from");
  for (ObjectReader &part : reader.objects("parts"))
    weight.decl.parts.push_back(readPart(std::move(part)));
  reader.expectNothingElse();
  if (auto reason = whyNotPackable(weight.decl, weight.spec))
    reader.refuse("layout", *reason);
  return weight;
}

void readWeights(ObjectReader &reader, Manifest &manifest) {
  uint64_t end = 0;
  std::set<std::string> names;
  for (ObjectReader &item : reader.objects("weights")) {
    PackedWeight weight = readWeight(item);
    checkPlace(item, weight, end, manifest.weightsBytes);
    if (!names.insert(weight.decl.name).second)
      item.refuse("name", fmt::format("'{}' twice, expected once", weight.decl.name));
    end = weight.offset + weight.bytes; // checkPlace: inside weightsBytes
    manifest.weights.push_back(std::move(weight));
  }
}

KvGroup readKvGroup(ObjectReader &reader, uint64_t layers) {
  KvGroup group;
  group.name = reader.string("name");
  group.elementFormat = reader.string("element_format");
  if (group.elementFormat != "f32" && group.elementFormat != "bf16")
    reader.refuse("element_format", fmt::format("'{}', expected f32 or bf16", group.elementFormat));
  group.window = reader.unsignedInteger("window", largestCount);
  group.blockTokens = reader.unsignedInteger("block_tokens", largestCount);
  group.blockBytes = reader.unsignedInteger("block_bytes", largestBytes);
  group.layers = reader.unsignedIntegers("layers", largestCount);
  for (uint64_t layer : group.layers)
    if (layer >= layers)
      reader.refuse("layers", fmt::format("layer {}, expected below {}", layer, layers));
  reader.expectNothingElse();
  return group;
}

RopeTable readRopeTable(ObjectReader &reader) {
  RopeTable table;
  table.name = reader.string("name");
  table.headDim = reader.unsignedInteger("head_dim", largestCount);
  table.attentionFactor = reader.finite("attention_factor");
  table.inverseFrequencies = reader.finites("inverse_frequencies");
  if (table.headDim % 2 != 0 || table.inverseFrequencies.size() != table.headDim / 2)
    reader.refuse("inverse_frequencies",
                  fmt::format("{} values, expected head_dim / 2 with head_dim = {} even",
                              table.inverseFrequencies.size(), table.headDim));
  reader.expectNothingElse();
  return table;
}

MemoryPlan::Buffer readBuffer(ObjectReader &reader, uint64_t arenaBytes) {
  MemoryPlan::Buffer buffer;
  buffer.name = reader.string("name");
  buffer.offset = reader.unsignedInteger("offset");
  buffer.bytes = reader.unsignedInteger("bytes");
  buffer.firstUse = reader.signedInteger("first_use");
  buffer.lastUse = reader.signedInteger("last_use");
  if (!rangeInside(buffer.offset, buffer.bytes, arenaBytes))
    reader.refuse("offset", fmt::format("{} + {} bytes, expected an end within arena_bytes = {}",
                                        buffer.offset, buffer.bytes, arenaBytes));
  if (buffer.firstUse > buffer.lastUse)
    reader.refuse("first_use", fmt::format("{}, expected at most last_use = {}", buffer.firstUse,
                                           buffer.lastUse));
  reader.expectNothingElse();
  return buffer;
}

MemoryPlan readPlan(ObjectReader reader) {
  MemoryPlan plan;
  plan.maxRows = reader.unsignedInteger("max_rows", largestCount);
  plan.maxOutputRows = reader.unsignedInteger("max_output_rows", largestCount);
  plan.arenaBytes = reader.unsignedInteger("arena_bytes", largestBytes);
  plan.scratchBytes = reader.unsignedInteger("scratch_bytes", largestBytes);
  for (ObjectReader &item : reader.objects("buffers"))
    plan.buffers.push_back(readBuffer(item, plan.arenaBytes));
  reader.expectNothingElse();
  return plan;
}

KernelUse readKernel(ObjectReader &reader) {
  KernelUse kernel;
  kernel.symbol = reader.string("symbol");
  kernel.codeBytes = reader.unsignedInteger("code_bytes", largestBytes);
  kernel.usedBy = reader.strings("used_by");
  reader.expectNothingElse();
  return kernel;
}

/// Whoever reads the arena by this trusts it.
void checkStageOutput(ObjectReader &reader, const StageOutput &output, const MemoryPlan &plan) {
  if (output.type != "f32" && output.type != "i32" && output.type != "q8" && output.type != "bf16")
    reader.refuse("type", fmt::format("'{}', expected f32, i32, q8 or bf16", output.type));
  if (output.vectors == 0 || output.features == 0 ||
      (output.type == "q8" && output.features % blockColumns != 0))
    reader.refuse("features", fmt::format("{} vectors of {} features, expected at least one each, "
                                          "and multiples of {} for q8",
                                          output.vectors, output.features, blockColumns));
  if (output.offset == StageOutput::logits)
    return;
  const uint64_t rows = output.outputRows ? plan.maxOutputRows : plan.maxRows;
  const uint64_t bytes = checkedMultiply(checkedMultiply(rows, output.vectors, "rows of a stage"),
                                         output.vectorBytes(), "output of a stage");
  if (output.offset < 0 || output.offset % 64 != 0 || bytes > plan.arenaBytes ||
      uint64_t(output.offset) > plan.arenaBytes - bytes)
    reader.refuse("offset", fmt::format("{} with {} bytes, expected a multiple of 64 inside the "
                                        "arena of {}",
                                        output.offset, bytes, plan.arenaBytes));
}

StageOutput readStageOutput(ObjectReader &reader, const MemoryPlan &plan) {
  StageOutput output;
  output.offset = reader.signedInteger("offset");
  output.type = reader.string("type");
  output.outputRows = reader.boolean("output_rows");
  output.vectors = reader.unsignedInteger("vectors", largestCount);
  output.features = reader.unsignedInteger("features", largestCount);
  checkStageOutput(reader, output, plan);
  reader.expectNothingElse();
  return output;
}

Stage readStage(ObjectReader &reader, uint64_t layers, const MemoryPlan &plan) {
  Stage stage;
  stage.name = reader.string("name");
  stage.layer = reader.signedInteger("layer");
  if (stage.layer < -1 || stage.layer >= int64_t(layers))
    reader.refuse("layer", fmt::format("{}, expected -1 (none) or below {}", stage.layer, layers));
  for (ObjectReader &output : reader.objects("outputs"))
    stage.outputs.push_back(readStageOutput(output, plan));
  reader.expectNothingElse();
  return stage;
}

void readTokens(ObjectReader &reader, Manifest &manifest) {
  manifest.eosTokens = reader.signedIntegers("eos_tokens");
  for (int64_t token : manifest.eosTokens)
    if (token < 0 || uint64_t(token) >= manifest.vocabulary)
      reader.refuse("eos_tokens", fmt::format("token {}, expected 0 or more and below {}", token,
                                              manifest.vocabulary));
  manifest.bosToken = reader.signedInteger("bos_token");
  if (manifest.bosToken < -1 ||
      (manifest.bosToken >= 0 && uint64_t(manifest.bosToken) >= manifest.vocabulary))
    reader.refuse("bos_token", fmt::format("{}, expected -1 (none) or below {}", manifest.bosToken,
                                           manifest.vocabulary));
}

void readFacts(ObjectReader &reader, Manifest &manifest) {
  // First: what another release wrote may lack keys or have others.
  manifest.version = uint32_t(reader.unsignedInteger("version", UINT32_MAX));
  requireVersion("manifest", manifest.version, manifestVersion);
  manifest.abiVersion = uint32_t(reader.unsignedInteger("abi_version", UINT32_MAX));
  manifest.modelName = reader.string("model_name");
  manifest.architecture = reader.string("architecture");
  manifest.target = reader.string("target");
  manifest.featureBits = reader.unsignedInteger("feature_bits");
  manifest.numerics = reader.string("numerics");
  manifest.vocabulary = reader.unsignedInteger("vocabulary", largestCount);
  manifest.hidden = reader.unsignedInteger("hidden", largestCount);
  manifest.layers = reader.unsignedInteger("layers", largestCount);
  manifest.maxContext = reader.unsignedInteger("max_context", largestCount);
  readTokens(reader, manifest);
  manifest.weightsBytes = reader.unsignedInteger("weights_bytes", largestBytes);
  manifest.bytesPerToken = reader.unsignedInteger("bytes_per_token", largestBytes);
}

} // namespace

Manifest manifestFromJson(std::string_view json) {
  const nlohmann::json parsed = parseStrictJson(json, "manifest");
  ObjectReader reader(parsed, "manifest");
  Manifest manifest;
  readFacts(reader, manifest);
  readWeights(reader, manifest);
  for (ObjectReader &item : reader.objects("kv_groups"))
    manifest.kvGroups.push_back(readKvGroup(item, manifest.layers));
  for (ObjectReader &item : reader.objects("rope_tables"))
    manifest.ropeTables.push_back(readRopeTable(item));
  manifest.plan = readPlan(reader.object("plan"));
  for (ObjectReader &item : reader.objects("kernels"))
    manifest.kernels.push_back(readKernel(item));
  for (ObjectReader &item : reader.objects("stages"))
    manifest.stages.push_back(readStage(item, manifest.layers, manifest.plan));
  reader.expectNothingElse();
  return manifest;
}

} // namespace inf
