#include "compiler/frontends/WeightShapes.h"

#include <utility>

namespace inf {
namespace {

/// Adds the weights of one layer in the order of the contract in ModelDesc.h.
class BlockShapes {
public:
  std::vector<WeightShape> shapes;

  void add(std::string_view name, uint64_t experts, uint64_t rows, uint64_t columns) {
    shapes.push_back(
        {"layers." + std::string(layerMark) + "." + std::string(name), experts, rows, columns});
  }

  void linear(const std::string &name, uint64_t experts, uint64_t rows, uint64_t columns,
              bool bias) {
    add(name + ".weight", experts, rows, columns);
    if (bias)
      add(name + ".bias", experts, rows, 1);
  }

  void attention(uint64_t hidden, const AttentionDesc &a) {
    add("attention.norm.weight", 1, hidden, 1);
    linear("attention.q", 1, a.heads * a.headDim, hidden, a.bias);
    linear("attention.k", 1, a.kvHeads * a.headDim, hidden, a.bias);
    linear("attention.v", 1, a.kvHeads * a.headDim, hidden, a.bias);
    if (a.qkNorm) {
      add("attention.q_norm.weight", 1, a.headDim, 1);
      add("attention.k_norm.weight", 1, a.headDim, 1);
    }
    linear("attention.o", 1, hidden, a.heads * a.headDim, a.outputBias);
    if (a.sinks)
      add("attention.sinks", 1, a.heads, 1);
  }

  void mlp(uint64_t hidden, const MlpDesc &m) {
    add("mlp.norm.weight", 1, hidden, 1);
    linear("mlp.gate_up", 1, 2 * m.intermediate, hidden, m.bias);
    linear("mlp.down", 1, hidden, m.intermediate, m.bias);
  }

  void moe(uint64_t hidden, const MoeDesc &m) {
    add("moe.norm.weight", 1, hidden, 1);
    linear("moe.router", 1, m.experts, hidden, m.routerBias);
    linear("moe.gate_up", m.experts, 2 * m.intermediate, hidden, m.expertBias);
    linear("moe.down", m.experts, hidden, m.intermediate, m.expertBias);
  }
};

} // namespace

std::vector<WeightShape> headWeights(const ModelDesc &desc) {
  return {{"embedding.weight", 1, desc.vocabulary, desc.hidden}};
}

std::vector<WeightShape> blockWeights(const ModelDesc &desc, const BlockDesc &block) {
  BlockShapes shapes;
  shapes.attention(desc.hidden, block.attention);
  if (block.mlp)
    shapes.mlp(desc.hidden, *block.mlp);
  if (block.moe)
    shapes.moe(desc.hidden, *block.moe);
  return std::move(shapes.shapes);
}

std::vector<WeightShape> tailWeights(const ModelDesc &desc) {
  return {{"final_norm.weight", 1, desc.hidden, 1},
          {"lm_head.weight", 1, desc.vocabulary, desc.hidden}};
}

std::string atLayer(std::string_view name, uint64_t layer) {
  std::string result;
  for (size_t mark; (mark = name.find(layerMark)) != std::string_view::npos;) {
    result.append(name.substr(0, mark)).append(std::to_string(layer));
    name.remove_prefix(mark + layerMark.size());
  }
  return result.append(name);
}

} // namespace inf
