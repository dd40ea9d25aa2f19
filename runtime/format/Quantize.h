// From values to blocks of INT8, INT4 and INT4A. Deterministic: the same bytes on every machine.
//
// A block is 32 columns of a row; s (and m) are f16, codes are found for the rounded s:
//   INT8   s = max|w| / 127, code = clamp(rne(w / s), -127, 127).
//   INT4   code = clamp(rne(w / s), -8, 7). Of several s around (w of the largest magnitude) / -8,
//          and of the least-squares s for the codes of the best one, the smallest sum of squared
//          errors wins; of equals the first.
//   INT4A  code = clamp(rne((w - m) / s), 0, 15), m for code 0. The same search, from
//          s = (max - min) / 15, m = min on; others keep the middle of the range.
// s = 0 (zeros, or values below what f16 holds) gives codes 0.
#pragma once

#include <cstdint>

#include "runtime/abi/WeightFormats.h"

namespace inf {

/// Whether there is a quantizer for the format (INT8, INT4, INT4A).
constexpr bool isQuantizable(WeightFormat format) { return format > WeightFormat::MXFP4; }

/// Writes `blocks` blocks (runtime/format/Blocks.h) for as many times 32 finite values. Returns the
/// number written: less than `blocks` when the next one needs a scale or minimum beyond f16.
uint64_t quantizeBlocks(WeightFormat format, const float *values, uint64_t blocks, uint8_t *out);

/// What a model holds for values packed in `format`: each 32 of them become the values that their
/// block means. `count` % 32 == 0. BadInput for a value that is not finite or a block beyond f16;
/// Internal for a count or a format that can't be.
void quantizeDequantize(WeightFormat format, float *values, uint64_t count);

} // namespace inf
