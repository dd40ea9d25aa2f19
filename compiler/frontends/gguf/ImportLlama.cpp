// llama: dense layers of Llama's shape. GGML rotates neighbouring rows of q and k, so such files
// have the rows of each head reordered; they are read back in the order that rotates halves.
#include "compiler/frontends/Suggest.h"
#include "compiler/frontends/WeightShapes.h"
#include "compiler/frontends/gguf/Import.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

constexpr char layerTensor[] = "blk.{layer}.", layerWeight[] = "layers.{layer}.";

/// Of the first layer; the tensors of all are compared with it later.
bool hasTensor(const GgufImport &in, const std::string &tensor) {
  return in.file.findTensor(atLayer(layerTensor + tensor, 0));
}

void refuseWhatIsNotThere(GgufImport &in) {
  if (in.metadata.optionalCount(in.key("expert_count"), UINT32_MAX).value_or(0) != 0)
    in.metadata.refuse(in.key("expert_count"),
                       "is not 0: experts are not implemented for this architecture");
  in.metadata.ignore(in.key("expert_used_count"));
  if (in.file.findTensor("rope_freqs.weight"))
    fail(ErrorCode::BadInput,
         "{}: tensor \"rope_freqs.weight\" scales the frequencies of rope one by one (Llama 3.1), "
         "which is not implemented",
         in.file.path());
}

void pairHeads(GgufImport &in, const AttentionDesc &attention) {
  for (uint64_t layer = 0; layer < in.desc.layers.size(); ++layer)
    for (const std::string name : {"attn_q.weight", "attn_k.weight", "attn_q.bias", "attn_k.bias"})
      in.paired[atLayer(layerTensor + name, layer)] = attention.headDim;
}

} // namespace

void importGgufLlama(GgufImport &in) {
  in.desc.architecture = "llama";
  refuseWhatIsNotThere(in);
  const uint64_t layers = importDimensions(in);
  in.desc.ropes["main"] = importGgufRope(in, true);
  BlockDesc block;
  block.attention = importHeads(in);
  block.attention.bias = hasTensor(in, "attn_q.bias");
  block.attention.outputBias = hasTensor(in, "attn_output.bias");
  block.attention.rope = "main";
  block.mlp = MlpDesc{
      in.metadata.dimension(in.key("feed_forward_length")), hasTensor(in, "ffn_up.bias"), {}};
  in.desc.blocks["layer"] = block;
  in.desc.layers.assign(layers, "layer");
  pairHeads(in, block.attention);
  addCommonRules(in, block.attention);
  const std::string tensor = layerTensor, mlp = std::string(layerWeight) + "mlp.";
  addGgufRule(in, mlp + "norm.weight", {tensor + "ffn_norm.weight"});
  for (const std::string kind : {".weight", ".bias"}) {
    if (kind == ".bias" && !block.mlp->bias)
      continue;
    addGgufRule(in, mlp + "gate_up" + kind, {tensor + "ffn_gate" + kind, tensor + "ffn_up" + kind});
    addGgufRule(in, mlp + "down" + kind, {tensor + "ffn_down" + kind});
  }
}

} // namespace inf
