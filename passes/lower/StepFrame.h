// What the code of one function of the step works with: the step's fields, this thread's share,
// where buffers and weights are.
#pragma once

#include "llvm/ADT/DenseMap.h"

#include "passes/Buffers.h"
#include "passes/lower/Emit.h"

namespace inf {

/// A buffer in step code: pointer to row 0 and the distance of rows in bytes.
struct RowsAt {
  Value pointer;
  Value strideBytes;
};

/// Units [begin, end) of a stage that fall to this thread.
struct Share {
  Value begin, end;
};

class StepFrame {
public:
  /// The builder stands at the start of the function's entry block; `step` is `const inf_step *`,
  /// `thread` an i64.
  StepFrame(Emit &emitter, ir::ModelOp modelOp, Value stepPointer, Value threadIndex);

  Emit &e;
  ir::ModelOp model;
  Value step, thread;
  Value rows, outputRows, threads;              ///< i64
  Value rowArray, arena, weights;               ///< pointers
  Value scratch;                                ///< this thread's
  Value linearArgs, attentionArgs;              ///< stack, for the calls of kernels
  Value xRows, yRows, residualRows, addendRows; ///< stack arrays of row pointers
  Value kvSlot;                                 ///< i64, in a layer
  Value weightTable;                            ///< offsets of the layer's weights, in a layer

  /// Rows that a value of the IR has: all rows or the output rows.
  Value rowCount(Value value) { return isOutputRows(value) ? outputRows : rows; }
  RowsAt buffer(Value value);
  Value rowOf(Value value, Value index);
  /// Pointer to the packed weight of a `!inf.weight` value.
  Value weight(Value value);
  /// Format that weight is packed to.
  ir::Format formatOf(Value value);

  /// This thread's share of `count` units.
  Share share(Value count);
  /// body(row) for every row of this thread's share of the rows of `value`.
  void ownRows(Value value, llvm::function_ref<void(Value)> body);
  void barrier();

  /// Field `offset` of row `index` (inf_row), as i64.
  Value rowField(Value index, int64_t offset);
  Value position(Value index);
  Value sequence(Value index);
};

/// Most rows a kernel call gets at once: the length of the pointer arrays.
inline constexpr int64_t maxRowTile = 128;

} // namespace inf
