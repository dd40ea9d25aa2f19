// Which values are buffers, how long their rows are, and how long they live: shared by the planner
// and the lowering. The verifier of the plan works these out for itself.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/dialect/InfDialect.h"

namespace inf {

/// Rows of buffers are padded to this many elements: kernels store whole panels.
inline constexpr int64_t rowPadding = 16;
/// Buffers start on cache lines.
inline constexpr int64_t bufferAlignment = 64;
/// Offset of a value that lives in memory of the caller of the step (the logits).
inline constexpr int64_t callerBuffer = -1;

constexpr int64_t alignTo(int64_t value, int64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// Bytes between two rows of a buffer: f32 features, padded, or a q8 or bf16 row. [r, k, f] has k
/// such vectors per row.
int64_t rowBytes(mlir::Value value);
/// Bytes between two of the k vectors of one row of a [r, k, f] buffer.
int64_t vectorBytes(mlir::Value value);
/// Bytes of `features` f32, padded as in a buffer.
int64_t floatRowBytes(int64_t features);

/// Whether the value's rows are the step's output rows rather than all rows.
bool isOutputRows(mlir::Value value);

/// Bytes of the buffer of `value`.
int64_t bufferBytes(mlir::Value value, int64_t maxRows, int64_t maxOutputRows);

/// Results of `op` that need a buffer (all tensors it makes).
std::vector<mlir::OpResult> bufferResults(mlir::Operation *op);

/// The operand whose buffer the first result of `op` may take over, if `op` is its last reader:
/// what is added to it is added in place. Null when there is none.
mlir::Value inPlaceOperand(mlir::Operation *op);

/// Attention that may be split over its keys: what its partial results take in the arena, as
///   [rows][kv heads][chunks] partials (codegen/KernelArgs.h)
/// and how many there are most of a row and kv head. All 0 for any other op.
struct Partials {
  int64_t rows = 0, kvHeads = 0, chunks = 0;
  int64_t partialBytes = 0; ///< of one
  int64_t bytes() const { return rows * kvHeads * chunks * partialBytes; }
};
Partials partialsOf(mlir::Operation *op, int64_t maxRows);

/// Bytes at the end of the arena where the threads count, for each row and kv head that is split,
/// the chunks that are done: u32 each, 0 between stages. 0 when no attention may be split.
int64_t chunkCounterBytes(ir::ModelOp model, int64_t maxRows);

/// Bytes of scratch per thread that `op` works in, and where its parts begin.
struct Scratch {
  int64_t normedRows = 0; ///< [row_tile][padded features] f32: rows after the norm prologue
  int64_t outputs = 0;    ///< [row_tile][padded features] f32: outputs before they are rounded
  int64_t counts = 0;     ///< [experts + 1] i32: where each expert's pairs begin
  int64_t pairs = 0;      ///< [rows * k] i32: pair indices, sorted by expert
  int64_t kernel = 0;     ///< what the kernel works in (linearScratchBytes, codegen/KernelArgs.h)
  int64_t bytes = 0;
};
Scratch scratchOf(mlir::Operation *op, int64_t maxRows);

} // namespace inf
