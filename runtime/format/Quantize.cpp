// This file is compiled without contraction: a product and a sum that become one FMA round
// differently, and the bytes of a model must not depend on the compiler's choice. Sums run in eight
// lanes that are folded in a fixed order, so that they can be vectorized and never reordered.
#include "runtime/format/Quantize.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/base/Error.h"
#include "runtime/format/Blocks.h"
#include "runtime/format/NumberFormats.h"

namespace inf {
namespace {

using Values = std::array<float, blockColumns>;

constexpr uint64_t lanes = 8;

/// What code * scale + minimum means; scale and minimum are values of f16.
struct Line {
  float scale = 0, minimum = 0;
};

struct Range {
  float lowest, highest;
};
constexpr Range int8Range = {-127, 127}, int4Range = {-8, 7}, int4aRange = {0, 15};

float roundToF16(float value) { return f16ToF32(f32ToF16(value)); }

/// To the nearest integer, ties to even, for |x| <= 2^21: adding 1.5 * 2^23 rounds at the ones.
float roundEven(float x) { return x + 0x1.8p23f - 0x1.8p23f; }

float fold(const std::array<float, lanes> &sums) {
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

/// Sum of term(i) over the block.
template <typename Term> float blockSum(Term term) {
  std::array<float, lanes> sums = {};
  for (uint64_t i = 0; i < blockColumns; i += lanes)
    for (uint64_t lane = 0; lane < lanes; ++lane)
      sums[lane] += term(i + lane);
  return fold(sums);
}

/// The codes, as floats, that bring the line nearest to the values; 0 for a scale of 0.
void nearestCodes(const float *values, Line line, Range range, Values &codes) {
  if (line.scale == 0)
    return codes.fill(0);
  for (uint64_t i = 0; i < blockColumns; ++i) {
    float code = (values[i] - line.minimum) / line.scale;
    code = code < range.lowest ? range.lowest : code;
    code = code > range.highest ? range.highest : code;
    codes[i] = roundEven(code);
  }
}

/// The best line so far with its codes.
struct Fit {
  Line line;
  Values codes = {};
  float error = std::numeric_limits<float>::infinity(); ///< sum of squares
};

/// Takes the line, rounded to f16, when it is better.
void tryLine(const float *values, Line line, Range range, Fit &best) {
  line = {roundToF16(line.scale), roundToF16(line.minimum)};
  if (!std::isfinite(line.scale) || !std::isfinite(line.minimum))
    return;
  Fit fit;
  fit.line = line;
  nearestCodes(values, line, range, fit.codes);
  fit.error = blockSum([&](uint64_t i) {
    const float error = values[i] - (fit.codes[i] * line.scale + line.minimum);
    return error * error;
  });
  if (fit.error < best.error)
    best = fit;
}

/// Of the largest magnitude, with its sign; the first of equals.
float extremeOf(const float *values) {
  uint32_t largest = 0;
  for (uint64_t i = 0; i < blockColumns; ++i)
    largest = std::max(largest, std::bit_cast<uint32_t>(values[i]) & 0x7fffffffu);
  const float magnitude = std::bit_cast<float>(largest);
  for (uint64_t i = 0; i < blockColumns; ++i)
    if (std::fabs(values[i]) == magnitude)
      return values[i];
  return 0; // not for finite values
}

void store16(uint8_t *to, uint16_t value) { std::memcpy(to, &value, sizeof(value)); }

bool quantizeInt8(const float *values, uint8_t *block) {
  const uint16_t scale = f32ToF16(std::fabs(extremeOf(values)) / 127);
  if (!std::isfinite(f16ToF32(scale)))
    return false;
  Values codes;
  nearestCodes(values, {f16ToF32(scale), 0}, int8Range, codes);
  store16(block, scale);
  for (uint64_t i = 0; i < blockColumns; ++i)
    block[2 + i] = uint8_t(int8_t(codes[i]));
  return true;
}

/// `offset` is added to the codes, which makes them 0..15.
void storeNibbles(const Values &codes, float offset, uint8_t *out) {
  for (uint64_t j = 0; j < blockColumns / 2; ++j)
    out[j] = uint8_t(int(codes[j] + offset) | int(codes[j + blockColumns / 2] + offset) << 4);
}

/// The scale with the least squared error for the codes of `best`: sum w q / sum q q.
void refineScale(const float *values, Fit &best) {
  const Values &codes = best.codes;
  const float squares = blockSum([&](uint64_t i) { return codes[i] * codes[i]; });
  if (squares > 0)
    tryLine(values, {blockSum([&](uint64_t i) { return values[i] * codes[i]; }) / squares, 0},
            int4Range, best);
}

// The levels that the value of the largest magnitude, or the range, is spread over; the first is
// the plain rule. Fewer levels: a wider scale, nothing cut off on the shorter side (codes end at
// +7); more: a finer scale, the largest values cut off. On normally distributed weights further
// candidates gain less than 0.1 % of the error.
constexpr std::array<float, 8> int4Levels = {8, 7, 7.5f, 8.5f, 7.25f, 7.75f, 8.25f, 9};
constexpr std::array<float, 7> int4aLevels = {15, 14, 14.5f, 15.5f, 16, 16.5f, 17};

bool quantizeInt4(const float *values, uint8_t *block) {
  const float extreme = extremeOf(values);
  if (!std::isfinite(roundToF16(extreme / 8)))
    return false;
  Fit best;
  for (float levels : int4Levels)
    tryLine(values, {extreme / -levels, 0}, int4Range, best);
  refineScale(values, best);
  store16(block, f32ToF16(best.line.scale));
  storeNibbles(best.codes, 8, block + 2);
  return true;
}

/// The least-squares line through (code, value), taken from the best minimum on so that values far
/// from zero don't cancel.
void refineLine(const float *values, Fit &best) {
  const Values &codes = best.codes;
  const float minimum = best.line.minimum, n = float(blockColumns);
  const float sum = blockSum([&](uint64_t i) { return codes[i]; });
  const float squares = blockSum([&](uint64_t i) { return codes[i] * codes[i]; });
  const float rest = blockSum([&](uint64_t i) { return values[i] - minimum; });
  const float products = blockSum([&](uint64_t i) { return (values[i] - minimum) * codes[i]; });
  const float spread = n * squares - sum * sum; // exact: integers below 2^24
  if (spread == 0)
    return;
  const float scale = (n * products - sum * rest) / spread;
  tryLine(values, {scale, minimum + (rest - scale * sum) / n}, int4aRange, best);
}

bool quantizeInt4a(const float *values, uint8_t *block) {
  const float least = *std::min_element(values, values + blockColumns);
  const float range = *std::max_element(values, values + blockColumns) - least;
  if (!std::isfinite(roundToF16(least)) || !std::isfinite(roundToF16(range / 15)))
    return false;
  Fit best;
  for (float levels : int4aLevels) {
    const float cut = (1 - 15 / levels) / 2; // of the range, at either end; exactly 0 for 15
    tryLine(values, {range / levels, least + range * cut}, int4aRange, best);
  }
  refineLine(values, best);
  store16(block, f32ToF16(best.line.scale));
  store16(block + 2, f32ToF16(best.line.minimum));
  storeNibbles(best.codes, 0, block + 4);
  return true;
}

} // namespace

uint64_t quantizeBlocks(WeightFormat format, const float *values, uint64_t blocks, uint8_t *out) {
  if (!isQuantizable(format))
    fail(ErrorCode::Internal, "no quantizer for {}, expected int8, int4 or int4a",
         weightFormatName(format));
  const auto quantize = format == WeightFormat::INT8   ? quantizeInt8
                        : format == WeightFormat::INT4 ? quantizeInt4
                                                       : quantizeInt4a;
  for (uint64_t block = 0; block < blocks; ++block)
    if (!quantize(values + block * blockColumns, out + block * blockBytes(format)))
      return block;
  return blocks;
}

void quantizeDequantize(WeightFormat format, float *values, uint64_t count) {
  if (count % blockColumns != 0)
    fail(ErrorCode::Internal, "{} values to quantize, expected a multiple of {}", count,
         blockColumns);
  for (uint64_t i = 0; i < count; ++i)
    if (!std::isfinite(values[i]))
      fail(ErrorCode::BadInput, "value {} to quantize is {}, expected finite ones", i, values[i]);
  std::array<uint8_t, 64> block;
  for (uint64_t i = 0; i < count; i += blockColumns) {
    if (quantizeBlocks(format, values + i, 1, block.data()) == 0)
      fail(ErrorCode::BadInput,
           "values {} to {} need a scale beyond f16 in {}; choose a wider format", i,
           i + blockColumns - 1, weightFormatName(format));
    decodeBlock(format, block.data(), values + i);
  }
}

} // namespace inf
