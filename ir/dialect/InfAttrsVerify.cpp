// Verifiers of types, attributes and the decisions that passes attach to ops.
#include "ir/dialect/InfDialect.h"

using namespace mlir;

namespace inf::ir {

LogicalResult WeightType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape) {
  if (shape.empty() || shape.size() > 3)
    return emitError() << "expected [rows], [rows, columns] or [experts, rows, columns], found "
                       << shape.size() << " dimensions";
  int64_t elements = 1;
  for (int64_t dim : shape)
    if (dim <= 0 || __builtin_mul_overflow(elements, dim, &elements) ||
        elements > (int64_t(1) << 48))
      return emitError() << "expected positive dimensions of at most 2^48 elements, found ["
                         << shape << "]";
  return success();
}

LogicalResult ActivationAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                     ActivationKind kind, FloatAttr limit, FloatAttr alpha) {
  bool clamped = kind == ActivationKind::SwigluClamped;
  if (clamped != bool(limit) || clamped != bool(alpha))
    return emitError() << "expected limit and alpha with swiglu_clamped, and only there";
  if (clamped && !(limit.getValueAsDouble() > 0))
    return emitError() << "expected limit > 0, found " << limit.getValueAsDouble();
  if (clamped && !alpha.getValue().isFinite())
    return emitError() << "expected a finite alpha, found " << alpha.getValueAsDouble();
  return success();
}

LogicalResult PartAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr tensor,
                               StringAttr scales, Format stored, int64_t rows, bool transposed,
                               bool) {
  if (!tensor || tensor.empty())
    return emitError() << "expected the name of a checkpoint tensor";
  if (scales && stored != Format::MXFP4)
    return emitError() << "expected scales with mxfp4 only";
  if (isBlockFormat(stored) && transposed)
    return emitError() << "expected " << stringifyFormat(stored)
                       << " not to be transposed: its blocks lie along the columns";
  if (rows <= 0)
    return emitError() << "expected rows > 0, found " << rows;
  return success();
}

/// More rows are units enough for most machines, and partial results of more would take memory.
static constexpr int64_t mostSplitRows = 16;

LogicalResult PartitionAttr::verify(function_ref<InFlightDiagnostic()> emitError, Axis axis,
                                    int64_t grain, int64_t rowTile, int64_t chunkKeys,
                                    int64_t splitRows) {
  if (grain <= 0 || rowTile <= 0)
    return emitError() << "expected grain and row_tile > 0, found " << grain << " and " << rowTile;
  if (chunkKeys < 0 || splitRows < 0 || splitRows > mostSplitRows ||
      (chunkKeys == 0) != (splitRows == 0))
    return emitError() << "expected chunk_keys > 0 and split_rows in 1.." << mostSplitRows
                       << ", or neither, found " << chunkKeys << " and " << splitRows;
  if (chunkKeys != 0 && axis != Axis::RowHeads)
    return emitError() << "expected chunk_keys with axis = row_heads only, found "
                       << stringifyAxis(axis);
  return success();
}

LogicalResult InfDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef key = attribute.getName();
  if (key == kernelAttrName && !isa<StringAttr>(attribute.getValue()))
    return op->emitOpError() << "expected " << key << " to be a kernel's symbol name";
  if (key == partitionAttrName && !isa<PartitionAttr>(attribute.getValue()))
    return op->emitOpError() << "expected " << key << " to be an #inf.partition";
  if (key == offsetsAttrName) {
    auto offsets = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
    if (!offsets || offsets.size() != op->getNumResults())
      return op->emitOpError() << "expected " << key << " to have one offset per result";
  }
  if (key == partialsAttrName) {
    auto offset = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!offset || !offset.getType().isSignlessInteger(64))
      return op->emitOpError() << "expected " << key << " to be an offset in the arena";
  }
  return success();
}

} // namespace inf::ir
