// gpt-oss: alternating sliding and full attention with sinks and yarn, experts with clamped SwiGLU.
// Gate and up rows are two tensors here. Rope rotates halves: rows of q and k lie as they are read.
// What the file does not say is as the published models have it: layers in turn, sliding first;
// limit 7 and alpha 1.702; yarn without rounded bounds.
#include "compiler/frontends/gguf/Import.h"

namespace inf {
namespace {

constexpr char layerTensor[] = "blk.{layer}.", layerWeight[] = "layers.{layer}.";

MoeDesc importMoe(GgufImport &in) {
  MoeDesc moe;
  moe.experts = in.metadata.dimension(in.key("expert_count"));
  moe.topK = in.metadata.dimension(in.key("expert_used_count"));
  const uint64_t forward = in.metadata.dimension(in.key("feed_forward_length"), 0);
  moe.intermediate = in.metadata.dimension(in.key("expert_feed_forward_length"), forward);
  moe.routerBias = moe.expertBias = true;
  moe.activation.type = "swiglu_clamped";
  return moe;
}

void addRules(GgufImport &in, const AttentionDesc &attention) {
  const std::string tensor = layerTensor, weight = layerWeight, moe = weight + "moe.";
  addCommonRules(in, attention);
  addGgufRule(in, weight + "attention.sinks", {tensor + "attn_sinks.weight"});
  addGgufRule(in, moe + "norm.weight", {tensor + "post_attention_norm.weight"});
  for (const std::string kind : {".weight", ".bias"}) {
    addGgufRule(in, moe + "router" + kind, {tensor + "ffn_gate_inp" + kind});
    addGgufRule(in, moe + "gate_up" + kind,
                {tensor + "ffn_gate_exps" + kind, tensor + "ffn_up_exps" + kind});
    addGgufRule(in, moe + "down" + kind, {tensor + "ffn_down_exps" + kind});
  }
}

} // namespace

void importGgufGptOss(GgufImport &in) {
  in.desc.architecture = "gpt_oss";
  const uint64_t layers = importDimensions(in);
  in.desc.ropes["main"] = importGgufRope(in, false);
  BlockDesc full;
  full.attention = importHeads(in);
  full.attention.bias = full.attention.outputBias = full.attention.sinks = true;
  full.attention.rope = "main";
  full.moe = importMoe(in);
  BlockDesc sliding = full;
  sliding.attention.window = in.metadata.dimension(in.key("attention.sliding_window"));
  for (uint64_t layer = 0; layer < layers; ++layer)
    in.desc.layers.push_back(layer % 2 == 0 ? "sliding" : "full");
  in.desc.blocks["sliding"] = sliding;
  if (layers > 1)
    in.desc.blocks["full"] = full;
  addRules(in, full.attention);
}

} // namespace inf
