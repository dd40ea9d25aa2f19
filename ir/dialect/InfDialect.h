// The `inf` dialect. InfOps.td says what every op means.
#pragma once

#include <optional>

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "InfDialect.h.inc"
#include "InfEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "InfAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "InfTypes.h.inc"

namespace inf::ir {
class YieldOp;
} // namespace inf::ir

#define GET_OP_CLASSES
#include "InfOps.h.inc"

namespace inf::ir {

/// Features of an activation value: its last dimension.
int64_t featuresOf(mlir::Value activations);
/// tensor<?xFxf32>.
mlir::RankedTensorType activationType(mlir::MLIRContext *context, int64_t features);

// Names of the decisions that passes attach to ops.
inline constexpr llvm::StringLiteral kernelAttrName = "inf.kernel";
inline constexpr llvm::StringLiteral partitionAttrName = "inf.partition";
inline constexpr llvm::StringLiteral offsetsAttrName = "inf.offsets";
inline constexpr llvm::StringLiteral slotAttrName = "inf.slot";

} // namespace inf::ir
