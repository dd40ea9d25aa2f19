// Weights of a kind of layer are arguments of its block, bound by every layer that calls it. These
// helpers change both sides together.
#pragma once

#include <string>
#include <vector>

#include "ir/dialect/InfDialect.h"

namespace inf {

/// The layers that run `block`, in order.
std::vector<ir::LayerOp> layersOf(ir::ModelOp model, ir::BlockOp block);

/// The weight that `layer` binds to argument `index` (>= 1) of its block.
ir::WeightOp boundWeight(ir::ModelOp model, ir::LayerOp layer, unsigned index);

/// Every weight that may stand behind `value`: one per layer for a block argument, one for inf.use.
std::vector<ir::WeightOp> weightsBehind(ir::ModelOp model, mlir::Value value);

/// Concatenates block arguments along their rows: a new argument `slot` whose weight, in every
/// layer, has the parts of `arguments` in order. The old arguments stay until they are dropped.
mlir::Value concatenateArguments(ir::ModelOp model, ir::BlockOp block,
                                 llvm::ArrayRef<mlir::Value> arguments, const std::string &slot);

/// Drops arguments nothing reads, and the weights nothing else names.
void dropUnusedArguments(ir::ModelOp model, ir::BlockOp block);

} // namespace inf
