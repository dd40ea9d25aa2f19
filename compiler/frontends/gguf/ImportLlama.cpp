// Models of Llama's shape: llama (with experts: Mixtral), qwen2, qwen3, qwen3moe.
//
// GGML rotates neighbouring rows of q and k for llama, so such files have the rows of each head
// reordered; they are read back in the order that rotates halves. Qwen's files are as they are
// read.
#include <cstring>

#include "compiler/frontends/Suggest.h"
#include "compiler/frontends/WeightShapes.h"
#include "compiler/frontends/gguf/Import.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

constexpr char layerTensor[] = "blk.{layer}.", layerWeight[] = "layers.{layer}.";

/// Of the first layer; the tensors of all are compared with it later.
bool hasTensor(const GgufImport &in, const std::string &tensor) {
  return in.file.findTensor(atExpert(atLayer(layerTensor + tensor, 0), 0));
}

/// What each frequency is divided by (Llama 3.1's scaling, worked out by who wrote the file).
void importFrequencyDivisors(GgufImport &in, RopeDesc &rope, uint64_t headDim) {
  const std::string name = "rope_freqs.weight";
  const GgufTensor *tensor = in.file.findTensor(name);
  if (!tensor)
    return;
  if (rope.type != "default")
    fail(ErrorCode::BadInput,
         "{}: tensor \"{}\" together with rope scaling of type {}; expected one", in.file.path(),
         name, rope.type);
  if (tensor->type->stored() != WeightFormat::F32 || tensor->elements() != headDim / 2 ||
      tensor->bytes.size() != headDim / 2 * sizeof(float))
    fail(ErrorCode::BadInput, "{}: tensor \"{}\" is {} [{}], expected {} numbers in F32",
         in.file.path(), name, tensor->type->name, fmt::join(tensor->shape, ", "), headDim / 2);
  rope.type = "divided";
  for (uint64_t i = 0; i < headDim / 2; ++i) {
    float divisor;
    std::memcpy(&divisor, tensor->bytes.data() + i * sizeof(float), sizeof(float));
    rope.divisors.push_back(double(divisor)); // validate() refuses what is not positive
  }
  in.usedTensors.insert(name);
}

/// q and k as Llama's files have them. (Norms of heads come with Qwen's files, which are not.)
void pairHeads(GgufImport &in, const AttentionDesc &attention) {
  for (uint64_t layer = 0; layer < in.desc.layers.size(); ++layer)
    for (const std::string name : {"attn_q.weight", "attn_k.weight", "attn_q.bias", "attn_k.bias"})
      in.paired[atLayer(layerTensor + name, layer)] = attention.headDim;
}

AttentionDesc importAttention(GgufImport &in, bool qkNorm) {
  AttentionDesc attention = importHeads(in);
  attention.bias = hasTensor(in, "attn_q.bias");
  attention.outputBias = hasTensor(in, "attn_output.bias");
  attention.qkNorm = qkNorm;
  attention.rope = "main";
  RopeDesc rope = importGgufRope(in, true);
  importFrequencyDivisors(in, rope, attention.headDim);
  in.desc.ropes["main"] = rope;
  return attention;
}

MoeDesc importMoe(GgufImport &in, uint64_t experts) {
  MoeDesc moe;
  moe.experts = experts;
  moe.topK = in.metadata.dimension(in.key("expert_used_count"));
  const std::string forward = in.key("feed_forward_length");
  const uint64_t dense = in.metadata.has(forward) ? in.metadata.dimension(forward) : 0;
  const std::string own = in.key("expert_feed_forward_length");
  moe.intermediate = dense == 0 || in.metadata.has(own) ? in.metadata.dimension(own) : dense;
  if (const auto gate = in.metadata.optionalCount(in.key("expert_gating_func"), UINT32_MAX);
      gate && *gate != 1)
    in.metadata.refuse(in.key("expert_gating_func"),
                       fmt::format("is {}, expected 1 (softmax)", *gate));
  return moe;
}

void addMlpRules(GgufImport &in, const MlpDesc &mlp) {
  const std::string tensor = layerTensor, weight = std::string(layerWeight) + "mlp.";
  addGgufRule(in, weight + "norm.weight", {tensor + "ffn_norm.weight"});
  for (const std::string kind : {".weight", ".bias"}) {
    if (kind == ".bias" && !mlp.bias)
      continue;
    addGgufRule(in, weight + "gate_up" + kind,
                {tensor + "ffn_gate" + kind, tensor + "ffn_up" + kind});
    addGgufRule(in, weight + "down" + kind, {tensor + "ffn_down" + kind});
  }
}

/// Experts stacked, or in older files a tensor each.
void addMoeRules(GgufImport &in) {
  const std::string tensor = layerTensor, weight = std::string(layerWeight) + "moe.";
  const bool each = !hasTensor(in, "ffn_gate_exps.weight") && hasTensor(in, "ffn_gate.0.weight");
  const std::string end = each ? ".{expert}.weight" : "_exps.weight";
  addGgufRule(in, weight + "norm.weight", {tensor + "ffn_norm.weight"});
  addGgufRule(in, weight + "router.weight", {tensor + "ffn_gate_inp.weight"});
  addGgufRule(in, weight + "gate_up.weight", {tensor + "ffn_gate" + end, tensor + "ffn_up" + end});
  addGgufRule(in, weight + "down.weight", {tensor + "ffn_down" + end});
}

enum class Heads { Paired, AsRead };

void importModel(GgufImport &in, const std::string &architecture, Heads heads, bool qkNorm) {
  in.desc.architecture = architecture;
  const uint64_t layers = importDimensions(in);
  BlockDesc block;
  block.attention = importAttention(in, qkNorm);
  const uint64_t experts =
      in.metadata.optionalCount(in.key("expert_count"), UINT32_MAX).value_or(0);
  if (experts != 0) {
    block.moe = importMoe(in, experts);
  } else {
    in.metadata.ignore(in.key("expert_used_count"));
    block.mlp = MlpDesc{
        in.metadata.dimension(in.key("feed_forward_length")), hasTensor(in, "ffn_up.bias"), {}};
  }
  in.desc.blocks["layer"] = block;
  in.desc.layers.assign(layers, "layer");
  if (heads == Heads::Paired)
    pairHeads(in, block.attention);
  addCommonRules(in, block.attention);
  if (qkNorm)
    for (const std::string norm : {"q_norm", "k_norm"})
      addGgufRule(in, std::string(layerWeight) + "attention." + norm + ".weight",
                  {std::string(layerTensor) + "attn_" + norm + ".weight"});
  if (block.moe)
    addMoeRules(in);
  else
    addMlpRules(in, *block.mlp);
}

} // namespace

void importGgufLlama(GgufImport &in) { importModel(in, "llama", Heads::Paired, false); }
void importGgufQwen2(GgufImport &in) { importModel(in, "qwen2", Heads::AsRead, false); }
void importGgufQwen3(GgufImport &in) { importModel(in, "qwen3", Heads::AsRead, true); }
void importGgufQwen3Moe(GgufImport &in) { importModel(in, "qwen3_moe", Heads::AsRead, true); }

} // namespace inf
