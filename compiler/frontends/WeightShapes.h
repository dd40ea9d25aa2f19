// The logical weights of a model with their shapes, before any checkpoint is looked at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/frontends/ModelDesc.h"

namespace inf {

/// "{layer}" in rule and tensor names stands for the layer's number.
inline constexpr std::string_view layerMark = "{layer}";

struct WeightShape {
  std::string name; ///< with "{layer}" for the weights of a block
  uint64_t experts = 1, rows = 0, columns = 1;
};

std::vector<WeightShape> headWeights(const ModelDesc &desc); ///< before the layers
std::vector<WeightShape> blockWeights(const ModelDesc &desc, const BlockDesc &block); ///< one layer
std::vector<WeightShape> tailWeights(const ModelDesc &desc); ///< after them

/// The name with every "{layer}" replaced.
std::string atLayer(std::string_view name, uint64_t layer);

} // namespace inf
