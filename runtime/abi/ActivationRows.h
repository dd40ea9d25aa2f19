// Rows of activations as kernels read them where these are not f32.
//
// q8: int8, every 32 columns share a scale.
//
//   codes    int8 [columns], -127..127, padded to 64 bytes
//   blocks   [columns / 32] of { f32 scale, i32 -16 * (sum of the block's codes) }
//   padded to 64 bytes
//
// x = code * scale. Kernels take any scales; on AMX tiles those that are powers of two are faster
// (`--activations=mxint8`). The sum is what a kernel subtracts that
// holds its weights as unsigned numbers (value + 16, or + 128 and the sum shifted by 3): an
// accumulator that starts there needs no more.
//
// bf16: the upper halves of f32, rounded to nearest even.
//
//   values   bf16 [columns], with odd columns a 0 behind them: kernels read pairs
//   padded to 64 bytes
#pragma once

#include <cstdint>

#include "runtime/abi/WeightFormats.h"

namespace inf {

struct Q8Block {
  float scale;
  int32_t minus16Sum;
};

/// Where the blocks start in a row of `columns` codes (a multiple of 32).
constexpr uint64_t q8BlocksOffset(uint64_t columns) { return (columns + 63) / 64 * 64; }

constexpr uint64_t q8RowBytes(uint64_t columns) {
  return (q8BlocksOffset(columns) + columns / blockColumns * sizeof(Q8Block) + 63) / 64 * 64;
}

constexpr uint64_t bf16RowBytes(uint64_t columns) { return (columns * 2 + 63) / 64 * 64; }

} // namespace inf
