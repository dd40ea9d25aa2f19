#include "compiler/frontends/TensorRules.h"

#include "compiler/frontends/WeightShapes.h"

namespace inf {

void addRule(ModelDesc &desc, const std::string &weight,
             const std::function<TensorRule(uint64_t layer)> &make) {
  TensorRule common = make(0);
  if (weight.find(layerMark) != std::string::npos)
    for (uint64_t layer = 1; layer < desc.layers.size(); ++layer)
      if (TensorRule rule = make(layer); rule != common)
        desc.tensors[atLayer(weight, layer)] = rule;
  desc.tensors[weight] = std::move(common);
}

} // namespace inf
