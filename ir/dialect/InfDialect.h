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

/// A product of dimensions that an IR may name. Rows are at most 65536, elements 4 bytes: byte
/// counts stay far inside 64 bits.
inline constexpr int64_t largestSize = 0x7fffffff;
/// Features of !inf.q8 that share a scale, and columns of every block format of weights.
inline constexpr int64_t q8Block = 32;

/// Formats in which 32 columns share a scale.
inline bool isBlockFormat(Format format) { return format >= Format::MXFP4; }

/// Features of an activation value: its last dimension.
int64_t featuresOf(mlir::Value activations);
/// Rows of unknown number and `known` dimensions behind, as isRowsOf says.
bool hasRowsShape(mlir::RankedTensorType tensor, int64_t known);
/// A tensor of 32-bit `Element` with rows of unknown number and `known` dimensions of 1 or more
/// behind, their product at most largestSize.
template <typename Element> bool isRowsOf(mlir::Type type, int64_t known) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  return tensor && mlir::isa<Element>(tensor.getElementType()) &&
         tensor.getElementType().isSignlessIntOrFloat() && tensor.getElementTypeBitWidth() == 32 &&
         hasRowsShape(tensor, known);
}
/// The same with elements of !inf.q8 or !inf.mxint8, whose blocks of 32 divide the last dimension.
bool isQ8RowsOf(mlir::Type type, int64_t known);
/// The same with elements of bf16.
bool isBf16RowsOf(mlir::Type type, int64_t known);
/// `type` with elements of !inf.q8, of !inf.mxint8, of bf16, or of those that `value` has.
mlir::RankedTensorType q8Type(mlir::Type type);
mlir::RankedTensorType mxint8Type(mlir::Type type);
mlir::RankedTensorType typeInFormOf(mlir::Type type, mlir::Value value);
mlir::RankedTensorType bf16Type(mlir::Type type);
/// What the value's elements are; q8 is either of the two in int8.
bool isQ8(mlir::Value value);
bool isMxint8(mlir::Value value);
bool isBf16(mlir::Value value);
/// Either: rows in the form that a product reads, not floats.
bool isRounded(mlir::Value value);
/// tensor<?xFxf32>.
mlir::RankedTensorType activationType(mlir::MLIRContext *context, int64_t features);

// Names of the decisions that passes attach to ops.
inline constexpr llvm::StringLiteral kernelAttrName = "inf.kernel";
inline constexpr llvm::StringLiteral partitionAttrName = "inf.partition";
inline constexpr llvm::StringLiteral offsetsAttrName = "inf.offsets";
inline constexpr llvm::StringLiteral partialsAttrName = "inf.partials";
inline constexpr llvm::StringLiteral slotAttrName = "inf.slot";

} // namespace inf::ir
