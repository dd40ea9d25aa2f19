// What happens to one row (or one head of it): the bodies of row-wise stages, and the prologues and
// epilogues that fused stages borrow from them.
#pragma once

#include "passes/lower/StepFrame.h"

namespace inf {

/// out = weight * x * rsqrt(mean(x^2) + eps). Squares are summed in 16 lanes, folded at the end.
void emitRmsNormRow(Emit &e, Value x, Value weight, Value out, int64_t features, double eps);

/// Rotates one head in place of `out` (may equal `x`): (a cos - b sin, b cos + a sin).
/// `angles` points to cos[headDim / 2], then sin[headDim / 2]. headDim is a multiple of 8.
void emitRopeHead(Emit &e, Value x, Value angles, Value out, int64_t headDim);
/// cos and sin of the row's position for a rope table.
Value emitAngles(StepFrame &frame, llvm::StringRef table, Value row);

/// Where one kv head of this layer stores a row's key and value.
struct KvPlace {
  Value key;   ///< element 0 of the key (see inf_kv_group for where the others are)
  Value value; ///< element 0 of the value; others are KvLayout::together elements apart
};
KvPlace emitKvPlace(StepFrame &frame, llvm::StringRef group, Value row, Value kvHead);
void emitStoreKey(StepFrame &frame, llvm::StringRef group, Value from, Value to, int64_t headDim);
void emitStoreValue(StepFrame &frame, llvm::StringRef group, Value from, Value to, int64_t headDim);

/// The k highest of `experts` logits and the softmax over them, or with `overAll` their share of
/// the softmax over all. Overwrites the logits.
void emitTopK(Emit &e, Value logits, int64_t experts, int64_t k, bool overAll, Value indicesOut,
              Value weightsOut);

void emitCopy(Emit &e, Value from, Value to, int64_t elements);

} // namespace inf
