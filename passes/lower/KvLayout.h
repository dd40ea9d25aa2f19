// The layout of a KV group's blocks (inf_kv_group) as numbers, and its view in a step.
#pragma once

#include "passes/lower/StepFrame.h"

namespace inf {

struct KvLayout {
  int64_t index = 0; ///< of the group in the model
  int64_t headDim = 0, kvHeads = 0, window = 0, blockTokens = 0, slots = 0, elementBytes = 0;
  int64_t headBytes = 0, valueOffset = 0, slotBytes = 0, blockBytes = 0;
  /// Dimensions of a key, and positions of a value, that lie side by side.
  int64_t together = 1;
  bool isBf16() const { return elementBytes == 2; }
};
KvLayout kvLayout(ir::KvGroupOp group);
KvLayout kvLayout(ir::ModelOp model, llvm::StringRef group);

struct KvViewValues {
  Value base, table, tableStride, slotStride;
};
KvViewValues emitKvView(StepFrame &frame, llvm::StringRef group);

} // namespace inf
