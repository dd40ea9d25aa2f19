#include "compiler/frontends/Limits.h"
#include "compiler/frontends/Suggest.h"
#include "compiler/frontends/TensorRules.h"
#include "compiler/frontends/WeightShapes.h"
#include "compiler/frontends/gguf/Import.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

/// The embedding's rows.
uint64_t vocabularyOf(GgufImport &in) {
  const GgufTensor *embedding = in.file.findTensor("token_embd.weight");
  if (!embedding || embedding->shape.size() != 2)
    fail(ErrorCode::BadInput, "{}: expected a tensor \"token_embd.weight\" of two dimensions, {}",
         in.file.path(),
         embedding ? fmt::format("found [{}]", fmt::join(embedding->shape, ", ")) : "found none");
  const uint64_t rows = embedding->shape[0];
  const uint64_t said = in.metadata.dimension(in.key("vocab_size"), rows);
  if (said != rows)
    in.metadata.refuse(
        in.key("vocab_size"),
        fmt::format("is {}, expected the {} rows of \"token_embd.weight\"", said, rows));
  return rows;
}

void mustEqual(GgufImport &in, const std::string &name, uint64_t expected) {
  const uint64_t found = in.metadata.dimension(in.key(name), expected);
  if (found != expected)
    in.metadata.refuse(in.key(name), fmt::format("is {}, expected the keys' length of a head, {}; "
                                                 "other lengths are not implemented. Use a model "
                                                 "whose heads are all of one length",
                                                 found, expected));
}

} // namespace

uint64_t importDimensions(GgufImport &in) {
  const uint64_t layers = in.metadata.dimension(in.key("block_count"));
  if (layers > maxLayers)
    in.metadata.refuse(in.key("block_count"),
                       fmt::format("is {}, expected 1 to {}", layers, maxLayers));
  in.desc.vocabulary = vocabularyOf(in);
  in.desc.hidden = in.metadata.dimension(in.key("embedding_length"));
  in.desc.maxContext = in.metadata.dimension(in.key("context_length"));
  in.desc.normEps = in.metadata.number(in.key("attention.layer_norm_rms_epsilon"));
  in.desc.tiedEmbeddings = !in.file.findTensor("output.weight");
  return layers;
}

AttentionDesc importHeads(GgufImport &in) {
  AttentionDesc attention;
  attention.heads = in.metadata.dimension(in.key("attention.head_count"));
  attention.kvHeads = in.metadata.dimension(in.key("attention.head_count_kv"), attention.heads);
  const uint64_t share = in.desc.hidden / attention.heads;
  if (!in.metadata.has(in.key("attention.key_length")) && share * attention.heads != in.desc.hidden)
    in.metadata.refuse(in.key("attention.head_count"),
                       fmt::format("is {}, expected a divisor of embedding_length ({})",
                                   attention.heads, in.desc.hidden));
  attention.headDim = in.metadata.dimension(in.key("attention.key_length"), share);
  mustEqual(in, "attention.value_length", attention.headDim);
  mustEqual(in, "rope.dimension_count", attention.headDim);
  return attention;
}

WeightPart ggufPart(const GgufImport &in, const std::string &tensor, uint64_t layer) {
  WeightPart part;
  part.tensor = tensor;
  const GgufTensor *found = in.file.findTensor(atExpert(atLayer(tensor, layer), 0));
  // One that is not there is listed when all are compared.
  part.stored = found ? found->type->stored() : WeightFormat::F32;
  return part;
}

void addGgufRule(GgufImport &in, const std::string &weight,
                 const std::vector<std::string> &tensors) {
  addRule(in.desc, weight, [&](uint64_t layer) {
    TensorRule rule;
    for (const std::string &tensor : tensors)
      rule.parts.push_back(ggufPart(in, tensor, layer));
    return rule;
  });
}

void addCommonRules(GgufImport &in, const AttentionDesc &attention) {
  const std::string tensor = "blk.{layer}.attn_", weight = "layers.{layer}.attention.";
  addGgufRule(in, "embedding.weight", {"token_embd.weight"});
  addGgufRule(in, "final_norm.weight", {"output_norm.weight"});
  if (!in.desc.tiedEmbeddings)
    addGgufRule(in, "lm_head.weight", {"output.weight"});
  addGgufRule(in, weight + "norm.weight", {tensor + "norm.weight"});
  for (const std::string linear : {"q", "k", "v", "o"}) {
    const std::string name = tensor + (linear == "o" ? "output" : linear);
    addGgufRule(in, weight + linear + ".weight", {name + ".weight"});
    if (linear == "o" ? attention.outputBias : attention.bias)
      addGgufRule(in, weight + linear + ".bias", {name + ".bias"});
  }
}

} // namespace inf
