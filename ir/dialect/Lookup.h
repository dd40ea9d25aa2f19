// Symbols that an op names, for verifiers.
#pragma once

#include "ir/dialect/InfDialect.h"

namespace inf::ir {

/// The SymbolOp of this model that `op` names; what else is there, or nothing, is an error by
/// `rule`.
template <typename SymbolOp>
mlir::FailureOr<SymbolOp> lookup(mlir::Operation *op, mlir::SymbolTableCollection &tables,
                                 mlir::FlatSymbolRefAttr name, const char *rule) {
  auto found = tables.lookupNearestSymbolFrom<SymbolOp>(op, name);
  if (!found)
    return op->emitOpError() << "(" << rule << ") expected " << name << " to be an "
                             << SymbolOp::getOperationName() << " of this model";
  return found;
}

} // namespace inf::ir
