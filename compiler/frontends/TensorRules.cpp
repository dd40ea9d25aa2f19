#include "compiler/frontends/TensorRules.h"

#include <set>
#include <string_view>

#include "compiler/frontends/WeightShapes.h"

namespace inf {

/// The layers whose kind has such a weight.
static std::vector<uint64_t> layersWith(const ModelDesc &desc, const std::string &weight) {
  std::set<std::string_view> kinds;
  for (const auto &[name, block] : desc.blocks)
    for (const WeightShape &shape : blockWeights(desc, block))
      if (shape.name == weight)
        kinds.insert(name);
  std::vector<uint64_t> layers;
  for (uint64_t layer = 0; layer < desc.layers.size(); ++layer)
    if (kinds.count(desc.layers[layer]))
      layers.push_back(layer);
  return layers;
}

void addRule(ModelDesc &desc, const std::string &weight,
             const std::function<TensorRule(uint64_t layer)> &make) {
  const std::vector<uint64_t> layers = layersWith(desc, weight);
  TensorRule common = make(layers.empty() ? 0 : layers.front());
  for (uint64_t layer : layers)
    if (TensorRule rule = make(layer); rule != common)
      desc.tensors[atLayer(weight, layer)] = rule;
  desc.tensors[weight] = std::move(common);
}

} // namespace inf
