// One kind of layer in the IR.
#pragma once

#include <string>
#include <vector>

#include "mlir/IR/Builders.h"

#include "compiler/frontends/ModelDesc.h"
#include "ir/dialect/InfDialect.h"

namespace inf {

/// A weight argument of a block: its name without "layers.N." and its type.
struct BlockSlot {
  std::string name;
  ir::WeightType type;
};

/// Symbols of one model share a name space: kinds of layer keep their names, rope tables and KV
/// groups get a prefix.
inline std::string ropeSymbol(const std::string &rope) { return "rope." + rope; }

/// Builds `inf.block @name` at the builder's insertion point, which it leaves behind the block.
void buildBlock(mlir::OpBuilder &builder, const ModelDesc &desc, const std::string &name,
                const BlockDesc &block, const std::string &kvGroup,
                const std::vector<BlockSlot> &slots);

} // namespace inf
