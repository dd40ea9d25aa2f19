// Rules from logical weights to tensors, as all importers write them.
#pragma once

#include <functional>
#include <string>

#include "compiler/frontends/ModelDesc.h"

namespace inf {

/// Adds the rule of a weight. For names with "{layer}", `make(layer)` gives the rule of one layer
/// with "{layer}" still in its tensor names; layers that differ from the first (another dtype) get
/// a rule of their own. desc.layers and desc.blocks are set: kinds of layer without the weight have
/// no rule.
void addRule(ModelDesc &desc, const std::string &weight,
             const std::function<TensorRule(uint64_t layer)> &make);

} // namespace inf
