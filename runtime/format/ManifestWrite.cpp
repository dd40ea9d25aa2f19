#include <nlohmann/json.hpp>

#include "runtime/base/Error.h"
#include "runtime/format/Checked.h"
#include "runtime/format/Manifest.h"

namespace inf {
namespace {

using Json = nlohmann::ordered_json; // keys in the order they are written below

// Declared first: a list converts members whatever their order below.
Json toJson(const WeightPart &part);
Json toJson(const PackedWeight &weight);
Json toJson(const KvGroup &group);
Json toJson(const RopeTable &table);
Json toJson(const MemoryPlan::Buffer &buffer);
Json toJson(const KernelUse &kernel);
Json toJson(const StageOutput &output);
Json toJson(const Stage &stage);

template <typename T> Json toJson(const std::vector<T> &items) {
  Json array = Json::array();
  for (const T &item : items)
    array.push_back(toJson(item));
  return array;
}

Json toJson(const WeightPart &part) {
  return {{"tensor", part.tensor},
          {"scales", part.scales},
          {"stored", weightFormatName(part.stored)},
          {"rows", part.rows},
          {"transposed", part.transposed},
          {"interleaved", part.interleaved}};
}

Json toJson(const PackedWeight &weight) {
  requirePackable(weight.decl, weight.spec); // formats and layouts have names only when known
  return {{"name", weight.decl.name},
          {"experts", weight.decl.experts},
          {"rows", weight.decl.rows},
          {"columns", weight.decl.columns},
          {"format", weightFormatName(weight.spec.format)},
          {"layout", packedLayoutName(weight.spec.layout)},
          {"offset", weight.offset},
          {"bytes", weight.bytes},
          {"format_from", weight.formatFrom},
          {"parts", toJson(weight.decl.parts)}};
}

Json toJson(const KvGroup &group) {
  return {{"name", group.name},
          {"element_format", group.elementFormat},
          {"window", group.window},
          {"block_tokens", group.blockTokens},
          {"block_bytes", group.blockBytes},
          {"layers", group.layers}};
}

Json toJson(const RopeTable &table) {
  return {{"name", table.name},
          {"head_dim", table.headDim},
          {"attention_factor", table.attentionFactor},
          {"inverse_frequencies", table.inverseFrequencies}};
}

Json toJson(const MemoryPlan::Buffer &buffer) {
  return {{"name", buffer.name},
          {"offset", buffer.offset},
          {"bytes", buffer.bytes},
          {"first_use", buffer.firstUse},
          {"last_use", buffer.lastUse}};
}

Json toJson(const MemoryPlan &plan) {
  return {{"max_rows", plan.maxRows},
          {"max_output_rows", plan.maxOutputRows},
          {"arena_bytes", plan.arenaBytes},
          {"scratch_bytes", plan.scratchBytes},
          {"buffers", toJson(plan.buffers)}};
}

Json toJson(const KernelUse &kernel) {
  return {{"symbol", kernel.symbol}, {"code_bytes", kernel.codeBytes}, {"used_by", kernel.usedBy}};
}

Json toJson(const StageOutput &output) {
  return {{"offset", output.offset},
          {"type", output.type},
          {"output_rows", output.outputRows},
          {"vectors", output.vectors},
          {"features", output.features}};
}

Json toJson(const Stage &stage) {
  return {{"name", stage.name}, {"layer", stage.layer}, {"outputs", toJson(stage.outputs)}};
}

Json toJson(const Manifest &manifest) {
  return {{"version", manifest.version},
          {"abi_version", manifest.abiVersion},
          {"model_name", manifest.modelName},
          {"architecture", manifest.architecture},
          {"target", manifest.target},
          {"feature_bits", manifest.featureBits},
          {"numerics", manifest.numerics},
          {"vocabulary", manifest.vocabulary},
          {"hidden", manifest.hidden},
          {"layers", manifest.layers},
          {"max_context", manifest.maxContext},
          {"eos_tokens", manifest.eosTokens},
          {"bos_token", manifest.bosToken},
          {"weights_bytes", manifest.weightsBytes},
          {"bytes_per_token", manifest.bytesPerToken},
          {"weights", toJson(manifest.weights)},
          {"kv_groups", toJson(manifest.kvGroups)},
          {"rope_tables", toJson(manifest.ropeTables)},
          {"plan", toJson(manifest.plan)},
          {"kernels", toJson(manifest.kernels)},
          {"stages", toJson(manifest.stages)}};
}

} // namespace

void layoutWeights(Manifest &manifest) {
  uint64_t end = 0;
  for (PackedWeight &weight : manifest.weights) {
    weight.offset = alignUp(end, weightAlignment, "offset of a weight");
    weight.bytes = packedBytes(weight.decl, weight.spec);
    end = checkedAdd(weight.offset, weight.bytes, "end of a weight");
  }
  manifest.weightsBytes = alignUp(end, weightAlignment, "size of the weights");
}

std::string manifestToJson(const Manifest &manifest) {
  try {
    return toJson(manifest).dump(2) + "\n";
  } catch (const nlohmann::json::exception &error) { // a name that is not UTF-8
    fail(ErrorCode::BadInput, "manifest: expected names in UTF-8, found: {}; rename the tensor",
         error.what());
  }
}

} // namespace inf
