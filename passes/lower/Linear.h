// Calling a linear kernel: how a weight is cut into units, and the argument struct.
#pragma once

#include <optional>

#include "passes/lower/StepFrame.h"

namespace inf {

/// A weight in units of the stage's grain (for an expert weight: of one expert).
struct LinearShape {
  int64_t units = 0;       ///< to share out
  int64_t unitPanels = 0;  ///< panels (pairs with an activation) in a unit
  int64_t unitOutputs = 0; ///< result features of a unit
  int64_t unitRows = 0;    ///< packed weight rows of a unit: twice unitOutputs with an activation
  int64_t panels = 0;      ///< in all: the last unit may have fewer than unitPanels
  int64_t columns = 0;
  int64_t panelBytes = 0;  ///< packed bytes of a panel (pair)
  int64_t expertBytes = 0; ///< of one expert
  int64_t biasStride = 0;  ///< floats of an expert's packed bias
};
LinearShape linearShape(StepFrame &frame, mlir::Operation *op, Value weight,
                        std::optional<ir::ActivationAttr> activation);

struct LinearOperands {
  Value bias, scale; ///< `!inf.weight` values or null
  std::optional<ir::ActivationAttr> activation;
};

/// body(share) when this thread has a share of the units.
void emitIfShare(StepFrame &frame, mlir::Operation *op, const LinearShape &shape,
                 llvm::function_ref<void(Share)> body);

/// Fills the argument struct but rows and row pointers. `expert` null: no expert axis.
void emitLinearArgs(StepFrame &frame, const LinearShape &shape, Share mine,
                    const LinearOperands &operands, Value weightPointer, Value expert);

/// array[i] = pointer(i) for i < count.
void emitRowPointers(StepFrame &frame, Value array, Value count,
                     llvm::function_ref<Value(Value)> pointer);

/// Points the kernel's outputs of `count` rows at this thread's share of their vectors in `result`,
/// `vectorAt(i)` being the start of row i's; for a rounded result at f32 rows in scratch instead,
/// which emitStoreRounded then rounds.
void emitOutputRows(StepFrame &frame, mlir::Operation *op, Value result, Share mine,
                    const LinearShape &shape, Value count,
                    llvm::function_ref<Value(Value)> vectorAt);
void emitStoreRounded(StepFrame &frame, mlir::Operation *op, Value result, Share mine,
                      const LinearShape &shape, Value count,
                      llvm::function_ref<Value(Value)> vectorAt);

/// Calls the kernel of `op` on `rows` rows of the pointer arrays.
void emitLinearCall(StepFrame &frame, mlir::Operation *op, Value rows);

} // namespace inf
