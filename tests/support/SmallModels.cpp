#include "tests/support/SmallModels.h"

#include "compiler/frontends/WeightShapes.h"

namespace inf::test {
namespace {

TensorRule plainRule(const std::string &tensor, WeightFormat format) {
  TensorRule rule;
  std::string scales = format == WeightFormat::MXFP4 ? tensor + ".scales" : "";
  rule.parts.push_back({tensor, scales, format, 0, false, false});
  return rule;
}

/// Every weight is one tensor of its own name.
void nameTensors(ModelDesc &desc, WeightFormat format) {
  auto add = [&](const std::vector<WeightShape> &shapes) {
    for (const WeightShape &shape : shapes)
      if (!desc.tiedEmbeddings || shape.name != "lm_head.weight")
        desc.tensors[shape.name] = plainRule(shape.name, format);
  };
  add(headWeights(desc));
  for (const auto &entry : desc.blocks)
    add(blockWeights(desc, entry.second));
  add(tailWeights(desc));
}

ModelDesc emptyModel(const std::string &name, uint64_t vocabulary, uint64_t hidden) {
  ModelDesc desc;
  desc.name = name;
  desc.architecture = name;
  desc.vocabulary = vocabulary;
  desc.hidden = hidden;
  desc.maxContext = 512;
  return desc;
}

AttentionDesc attention(uint64_t heads, uint64_t kvHeads, uint64_t headDim,
                        const std::string &rope) {
  AttentionDesc attention;
  attention.heads = heads;
  attention.kvHeads = kvHeads;
  attention.headDim = headDim;
  attention.rope = rope;
  return attention;
}

MoeDesc experts(uint64_t count, uint64_t topK, uint64_t intermediate) {
  MoeDesc moe;
  moe.experts = count;
  moe.topK = topK;
  moe.intermediate = intermediate;
  return moe;
}

RopeDesc yarn() {
  RopeDesc rope;
  rope.type = "yarn";
  rope.theta = 150000;
  rope.factor = 32;
  rope.originalContext = 4096;
  rope.truncate = false;
  return rope;
}

} // namespace

ModelDesc denseModel() {
  ModelDesc desc = emptyModel("dense", 96, 64);
  desc.tiedEmbeddings = true;
  desc.ropes["plain"] = {};
  BlockDesc block;
  block.attention = attention(4, 2, 16, "plain");
  block.mlp = MlpDesc{96, false, {}};
  desc.blocks["layer"] = block;
  desc.layers = {"layer", "layer"};
  nameTensors(desc, WeightFormat::F32);
  return desc;
}

ModelDesc gptOssLikeModel() {
  ModelDesc desc = emptyModel("gpt_oss_like", 96, 64);
  desc.ropes["yarn"] = yarn();
  BlockDesc full;
  full.attention = attention(4, 2, 16, "yarn");
  full.attention.bias = full.attention.outputBias = full.attention.sinks = true;
  full.moe = experts(4, 2, 64);
  full.moe->routerBias = full.moe->expertBias = true;
  full.moe->activation.type = "swiglu_clamped";
  BlockDesc sliding = full;
  sliding.attention.window = 8;
  desc.blocks = {{"full", full}, {"sliding", sliding}};
  desc.layers = {"sliding", "full", "sliding", "full"};
  nameTensors(desc, WeightFormat::BF16);
  storeAs(desc, "moe.gate_up.weight", WeightFormat::MXFP4);
  storeAs(desc, "moe.down.weight", WeightFormat::MXFP4);
  return desc;
}

ModelDesc qwenLikeModel() {
  ModelDesc desc = emptyModel("qwen_like", 96, 64);
  RopeDesc llama3;
  llama3.type = "llama3";
  llama3.factor = 8;
  llama3.originalContext = 64;
  desc.ropes["llama3"] = llama3;
  BlockDesc dense;
  dense.attention = attention(3, 1, 24, "llama3");
  dense.attention.bias = dense.attention.qkNorm = true;
  dense.mlp = MlpDesc{96, false, {}};
  BlockDesc sparse = dense;
  sparse.mlp.reset();
  sparse.moe = experts(5, 2, 32);
  sparse.moe->normalizeTopK = false;
  desc.blocks = {{"dense", dense}, {"experts", sparse}};
  desc.layers = {"dense", "experts"};
  nameTensors(desc, WeightFormat::F32);
  return desc;
}

ModelDesc unevenModel() {
  ModelDesc desc = emptyModel("uneven", 101, 48);
  desc.ropes["plain"] = {};
  BlockDesc sparse;
  sparse.attention = attention(3, 1, 16, "plain");
  sparse.attention.bias = true;
  sparse.moe = experts(3, 2, 40);
  BlockDesc dense;
  dense.attention = attention(3, 3, 16, "plain");
  dense.attention.sinks = true;
  dense.attention.window = 5;
  dense.mlp = MlpDesc{40, true, {"swiglu_clamped", 7, 1.702}};
  desc.blocks = {{"dense", dense}, {"sparse", sparse}};
  desc.layers = {"sparse", "dense", "sparse"};
  nameTensors(desc, WeightFormat::F32);
  return desc;
}

void storeAs(ModelDesc &desc, const std::string &weight, WeightFormat format) {
  std::string layered = "layers." + std::string(layerMark) + "." + weight;
  std::string name = desc.tensors.count(layered) ? layered : weight;
  desc.tensors[name] = plainRule(name, format);
}

} // namespace inf::test
