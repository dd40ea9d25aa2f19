#include "runtime/loader/CheckCode.h"

#include <cmath>

#include "runtime/base/Error.h"

namespace inf {
namespace {

/// Names the model and the field in every refusal.
class Checker {
public:
  explicit Checker(const std::string &modelPath) : path(modelPath) {}

  void equal(std::string_view what, uint64_t code, uint64_t payload) const {
    if (code != payload)
      fail(
          ErrorCode::BadInput,
          "'{}' is put together from two compilations: its payload says {} = {}, its code says {}. "
          "Compile the model again.",
          path, what, payload, code);
  }
  void require(bool holds, std::string_view rule) const {
    if (!holds)
      fail(ErrorCode::BadInput,
           "the code of '{}' breaks the contract of ABI version {}: {} does not hold. Compile the "
           "model again with the infc of the same release as this infrun.",
           path, INF_ABI_VERSION, rule);
  }

private:
  const std::string &path;
};

// Sizes must be equal, not just large enough: groups and ropes are arrays, and a struct that grew
// comes with a new ABI version.
void checkHead(const inf_model &code, const PayloadInfo &payload, const Checker &check) {
  check.require(code.magic == INF_ABI_MAGIC, "inf_model.magic == INF_ABI_MAGIC");
  check.require(code.version == INF_ABI_VERSION, "inf_model.version == INF_ABI_VERSION");
  check.require(code.struct_bytes == sizeof(inf_model),
                "inf_model.struct_bytes == sizeof(inf_model)");
  check.equal("build id (low)", code.build_id[0], payload.header.buildId[0]);
  check.equal("build id (high)", code.build_id[1], payload.header.buildId[1]);
  check.equal("feature bits", code.feature_bits, payload.header.featureBits);
  check.equal("feature bits (manifest)", code.feature_bits, payload.manifest.featureBits);
}

void checkDimensions(const inf_model &code, const Manifest &manifest, const Checker &check) {
  check.equal("vocabulary", code.vocabulary, manifest.vocabulary);
  check.equal("hidden", code.hidden, manifest.hidden);
  check.equal("layers", code.layers, manifest.layers);
  check.equal("max_context", code.max_context, manifest.maxContext);
  check.equal("kv_groups", code.kv_groups, manifest.kvGroups.size());
  check.equal("ropes", code.ropes, manifest.ropeTables.size());
  // Tokens and positions travel as int32.
  check.require(code.vocabulary >= 1 && code.vocabulary <= INT32_MAX,
                "1 <= vocabulary <= 2147483647");
  check.require(code.max_context >= 1 && code.max_context <= INT32_MAX,
                "1 <= max_context <= 2147483647");
  check.require(code.logits_stride >= code.vocabulary && code.logits_stride % 16 == 0,
                "logits_stride >= vocabulary, multiple of 16");
  check.require(code.hidden_stride >= code.hidden && code.hidden_stride % 16 == 0,
                "hidden_stride >= hidden, multiple of 16");
  check.require(code.step && code.plan, "step and plan are not null");
  check.require(code.kv_group || code.kv_groups == 0, "kv_group is not null");
  check.require(code.rope || code.ropes == 0, "rope is not null");
}

void checkPlan(const inf_plan &code, const MemoryPlan &plan, const Checker &check) {
  check.require(code.struct_bytes == sizeof(inf_plan), "inf_plan.struct_bytes == sizeof(inf_plan)");
  check.equal("plan.max_rows", code.max_rows, plan.maxRows);
  check.equal("plan.max_output_rows", code.max_output_rows, plan.maxOutputRows);
  check.equal("plan.arena_bytes", code.arena_bytes, plan.arenaBytes);
  check.equal("plan.scratch_bytes", code.scratch_bytes, plan.scratchBytes);
  check.require(code.max_rows >= 1 && code.max_rows <= INT32_MAX, "1 <= plan.max_rows");
  check.require(code.max_output_rows >= 1 && code.max_output_rows <= code.max_rows,
                "1 <= plan.max_output_rows <= plan.max_rows");
  check.require(code.scratch_bytes % 64 == 0, "plan.scratch_bytes is a multiple of 64");
}

/// a * b, or the largest value when it does not fit: only ever compared against a bound from above.
uint64_t saturatingProduct(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/// The layout of inf_kv_group fits into its block: `slots` slots and nothing else, each keys then
/// values of every head, `block_tokens * head_dim` elements a head. No two ranges may meet.
bool blockHoldsItsLayers(const inf_kv_group &group) {
  uint64_t element = group.element == INF_ELEMENT_F32 ? 4 : 2;
  uint64_t headElements = saturatingProduct(group.block_tokens, group.head_dim);
  uint64_t half = saturatingProduct(group.kv_heads, group.head_bytes);
  return group.head_bytes >= saturatingProduct(headElements, element) &&
         group.value_offset >= half && group.slot_bytes >= group.value_offset &&
         group.slot_bytes - group.value_offset >= half && group.slot_bytes % 64 == 0 &&
         group.block_bytes == saturatingProduct(group.slots, group.slot_bytes);
}

void checkKvGroup(const inf_kv_group &code, const KvGroup &group, uint32_t layers,
                  const Checker &check) {
  check.require(code.struct_bytes == sizeof(inf_kv_group),
                "inf_kv_group.struct_bytes == sizeof(inf_kv_group)");
  bool f32 = code.element == INF_ELEMENT_F32, bf16 = code.element == INF_ELEMENT_BF16;
  check.require(f32 || bf16, "kv_group.element is f32 or bf16");
  check.require(group.elementFormat == (f32 ? "f32" : "bf16"),
                "kv_group.element is the payload's element_format");
  check.equal("kv_group.window", code.window, group.window);
  check.equal("kv_group.block_tokens", code.block_tokens, group.blockTokens);
  check.equal("kv_group.block_bytes", code.block_bytes, group.blockBytes);
  check.equal("kv_group.slots", code.slots, group.layers.size());
  check.require(code.block_tokens >= 1 && code.block_tokens % INF_KEY_TILE == 0 &&
                    code.block_tokens <= (1u << 20),
                "kv_group.block_tokens is a multiple of the key tile and at most 1048576");
  check.require(code.slots >= 1 && code.kv_heads >= 1 && code.head_dim >= 1 && code.layers,
                "kv_group.slots, kv_heads, head_dim >= 1 and layers not null");
  check.require(code.block_bytes >= 64, "kv_group.block_bytes >= 64");
  check.require(blockHoldsItsLayers(code),
                "kv_group.block_bytes is all slots', each a multiple of 64 that holds all heads");
  for (uint32_t slot = 0; slot < code.slots; ++slot) {
    check.equal("kv_group.layers", code.layers[slot], group.layers[slot]);
    check.require(code.layers[slot] < layers, "kv_group.layers[slot] < layers");
  }
}

void checkRope(const inf_rope &code, const RopeTable &table, const Checker &check) {
  check.require(code.struct_bytes == sizeof(inf_rope), "inf_rope.struct_bytes == sizeof(inf_rope)");
  check.equal("rope.head_dim", code.head_dim, table.headDim);
  check.require(code.head_dim >= 2 && code.head_dim % 2 == 0, "rope.head_dim is even");
  check.require(code.head_dim / 2 == table.inverseFrequencies.size() && code.inverse_frequencies,
                "rope.inverse_frequencies has head_dim / 2 entries");
  check.require(code.attention_factor == table.attentionFactor,
                "rope.attention_factor is the payload's");
  for (uint32_t i = 0; i < code.head_dim / 2; ++i)
    check.require(std::isfinite(code.inverse_frequencies[i]) &&
                      code.inverse_frequencies[i] == table.inverseFrequencies[i],
                  "rope.inverse_frequencies are the payload's");
}

} // namespace

void checkCode(const inf_model &code, const PayloadInfo &payload, const std::string &path) {
  Checker check(path);
  const Manifest &manifest = payload.manifest;
  checkHead(code, payload, check);
  checkDimensions(code, manifest, check);
  checkPlan(*code.plan, manifest.plan, check);
  for (uint32_t i = 0; i < code.kv_groups; ++i)
    checkKvGroup(code.kv_group[i], manifest.kvGroups[i], code.layers, check);
  for (uint32_t i = 0; i < code.ropes; ++i)
    checkRope(code.rope[i], manifest.ropeTables[i], check);
}

} // namespace inf
