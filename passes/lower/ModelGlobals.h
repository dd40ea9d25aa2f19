// The constant data of a model.so: inf_model and what it points to, and the layers' weight tables.
#pragma once

#include "passes/lower/Emit.h"

namespace inf {

inline constexpr llvm::StringLiteral stepSymbol = "inf_model_step";
inline constexpr llvm::StringLiteral layerTableSymbol = "inf_layer_weights";

/// Offsets of each layer's weights in the payload, and where each layer's entries begin (bytes).
std::vector<int64_t> emitLayerTable(Emit &e, ir::ModelOp model);

struct ModelIdentity {
  uint64_t buildId[2] = {0, 0};
  uint64_t featureBits = 0;
};
/// inf_model and the exported inf_model_query.
void emitModelGlobals(Emit &e, ir::ModelOp model, const ModelIdentity &identity);

} // namespace inf
