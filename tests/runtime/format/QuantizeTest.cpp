#include <cmath>

#include <xxhash.h>

#include "runtime/format/Blocks.h"
#include "runtime/format/Quantize.h"
#include "tests/runtime/format/TestSupport.h"

namespace inf {
namespace {

using namespace test;
using enum WeightFormat;

constexpr uint64_t seed = 20240613; // printed with every failure; change it here to repeat another

/// Sums of four uniform integers: no library function whose bits could differ between machines.
std::vector<float> bellShaped(uint64_t count, float scale, uint64_t from = seed) {
  std::mt19937_64 random(from);
  std::vector<float> values(count);
  for (float &value : values) {
    int64_t sum = 0;
    for (int i = 0; i < 4; ++i)
      sum += int64_t(random() % 65536) - 32768;
    value = float(sum) / 65536 * scale;
  }
  return values;
}

std::vector<uint8_t> quantize(WeightFormat format, const std::vector<float> &values) {
  std::vector<uint8_t> bytes(weightBytes(format, values.size()));
  EXPECT_EQ(quantizeBlocks(format, values.data(), values.size() / 32, bytes.data()),
            values.size() / 32);
  return bytes;
}

std::vector<float> held(WeightFormat format, std::vector<float> values) {
  quantizeDequantize(format, values.data(), values.size());
  return values;
}

float halfAt(const uint8_t *bytes) { return f16ToF32(uint16_t(bytes[0] | bytes[1] << 8)); }

double squaredError(const std::vector<float> &a, const std::vector<float> &b, uint64_t first) {
  double sum = 0;
  for (uint64_t i = first; i < first + 32; ++i)
    sum += (double(a[i]) - b[i]) * (double(a[i]) - b[i]);
  return sum;
}

/// The values of a block under scale and minimum with the nearest codes.
double plainError(const std::vector<float> &values, uint64_t first, float scale, float minimum,
                  float lowest, float highest) {
  double sum = 0;
  for (uint64_t i = first; i < first + 32; ++i) {
    const float code = scale == 0 ? 0 : std::nearbyint((values[i] - minimum) / scale);
    const float clamped = std::min(std::max(code, lowest), highest);
    const double error = double(values[i]) - (clamped * scale + minimum);
    sum += error * error;
  }
  return sum;
}

TEST(Quantize, BytesOnDiskAreThoseOfEveryMachineAndRelease) {
  // A model compiled elsewhere must be the same: a change here is a change of every model's bytes.
  const auto values = bellShaped(32 * 1000, 0.05f);
  const auto hash = [&](WeightFormat format) {
    const auto bytes = quantize(format, values);
    return XXH3_64bits(bytes.data(), bytes.size());
  };
  EXPECT_EQ(hash(INT8), 12443114714138825444u);
  EXPECT_EQ(hash(INT4), 14736855456692224036u);
  EXPECT_EQ(hash(INT4A), 7536194436858636677u);
}

TEST(Quantize, Int8IsWithinHalfAStepAndItsLargestValueHasTheLargestCode) {
  for (float scale : {1e-2f, 1.0f, 1e4f}) {
    const auto values = bellShaped(32 * 200, scale), result = held(INT8, values);
    const auto bytes = quantize(INT8, values);
    for (uint64_t block = 0; block < 200; ++block) {
      const uint8_t *stored = &bytes[block * 34];
      float largest = 0;
      int code = 0;
      for (uint64_t i = 0; i < 32; ++i) {
        largest = std::max(largest, std::fabs(values[block * 32 + i]));
        code = std::max(code, std::abs(int(int8_t(stored[2 + i]))));
        EXPECT_LE(std::fabs(values[block * 32 + i] - result[block * 32 + i]),
                  halfAt(stored) * 0.5001f)
            << "seed " << seed << ", value " << block * 32 + i;
      }
      EXPECT_EQ(halfAt(stored), f16ToF32(f32ToF16(largest / 127)));
      EXPECT_EQ(code, 127);
    }
  }
}

TEST(Quantize, Int8RoundsTiesToEvenUnderTheRoundedScale) {
  std::vector<float> values(32, 0.0f);
  values[0] = 127, values[1] = 0.5f, values[2] = 1.5f, values[3] = -0.5f, values[4] = -2.5f;
  const auto bytes = quantize(INT8, values);
  const std::vector<int> codes = {int8_t(bytes[2]), int8_t(bytes[3]), int8_t(bytes[4]),
                                  int8_t(bytes[5]), int8_t(bytes[6])};
  EXPECT_THAT(codes, testing::ElementsAre(127, 0, 2, 0, -2));
  // 127.05 / 127 rounds down to 1 in f16: the code must not become 128.
  values[0] = 127.05f;
  EXPECT_EQ(int8_t(quantize(INT8, values)[2]), 127);
}

TEST(Quantize, FourBitErrorsAreNeverAboveThoseOfThePlainScale) {
  const auto values = bellShaped(32 * 500, 0.1f);
  const auto int4 = held(INT4, values), int4a = held(INT4A, values);
  double found = 0, plain = 0, foundA = 0, plainA = 0;
  for (uint64_t first = 0; first < values.size(); first += 32) {
    float extreme = 0, least = values[first], most = values[first];
    for (uint64_t i = first; i < first + 32; ++i) {
      extreme = std::fabs(values[i]) > std::fabs(extreme) ? values[i] : extreme;
      least = std::min(least, values[i]), most = std::max(most, values[i]);
    }
    const float scale = f16ToF32(f32ToF16(extreme / -8));
    const float scaleA = f16ToF32(f32ToF16((most - least) / 15));
    const double bound = plainError(values, first, scale, 0, -8, 7);
    const double boundA = plainError(values, first, scaleA, f16ToF32(f32ToF16(least)), 0, 15);
    EXPECT_LE(squaredError(values, int4, first), bound * 1.00001)
        << "seed " << seed << ", " << first;
    EXPECT_LE(squaredError(values, int4a, first), boundA * 1.00001)
        << "seed " << seed << ", " << first;
    found += squaredError(values, int4, first), plain += bound;
    foundA += squaredError(values, int4a, first), plainA += boundA;
  }
  EXPECT_LT(found, plain * 0.95); // else the search is in vain
  EXPECT_LT(foundA, plainA * 0.95);
}

TEST(Quantize, ZerosAndConstantsAreKept) {
  for (WeightFormat format : {INT8, INT4, INT4A})
    EXPECT_EQ(held(format, std::vector<float>(64, 0.0f)), std::vector<float>(64, 0.0f));
  for (WeightFormat format : {INT4, INT4A})
    for (float value : {1.0f, -0.375f, 1000.0f})
      EXPECT_EQ(held(format, std::vector<float>(32, value)), std::vector<float>(32, value))
          << weightFormatName(format);
}

TEST(Quantize, ValuesBelowTheSmallestScaleBecomeZero) {
  for (WeightFormat format : {INT8, INT4, INT4A}) {
    std::vector<float> values(32, 1e-12f);
    values[7] = -1e-11f;
    for (float value : held(format, values))
      EXPECT_EQ(value, 0) << weightFormatName(format);
  }
}

TEST(Quantize, SubnormalScalesStayWithinTheirStep) {
  for (WeightFormat format : {INT4, INT4A}) { // scales of a few times 2^-24
    const auto values = bellShaped(32 * 100, 1e-6f), result = held(format, values);
    for (uint64_t i = 0; i < values.size(); ++i)
      EXPECT_LE(std::fabs(values[i] - result[i]), 3e-7f) << "seed " << seed << ", " << i;
  }
}

TEST(Quantize, TheFirstBlockBeyondF16IsSaid) {
  std::vector<float> values(96, 1.0f);
  std::vector<uint8_t> bytes(96 * 2);
  for (WeightFormat format : {INT8, INT4, INT4A}) {
    values[40] = format == INT8 ? 65504.0f * 127 : format == INT4 ? -65504.0f * 8 : 65504.0f * 15;
    EXPECT_EQ(quantizeBlocks(format, values.data(), 3, bytes.data()), 3u);
    values[40] *= 1.01f;
    EXPECT_EQ(quantizeBlocks(format, values.data(), 3, bytes.data()), 1u);
    values[40] = 3e38f, values[41] = -3e38f; // their difference is infinite
    EXPECT_EQ(quantizeBlocks(format, values.data(), 3, bytes.data()), 1u);
    values[41] = 1;
  }
}

TEST(Quantize, WhatCanNotBeQuantizedIsRefused) {
  std::vector<float> values(32, 1.0f);
  for (WeightFormat format : {INT8, INT4, INT4A})
    for (float value : {float(INFINITY), std::nanf("")}) {
      values[5] = value;
      expectFailure(ErrorCode::BadInput, {"value 5"},
                    [&] { quantizeDequantize(format, values.data(), 32); });
    }
  values[5] = 1e9f;
  expectFailure(ErrorCode::BadInput, {"int8", "0 to 31"},
                [&] { quantizeDequantize(INT8, values.data(), 32); });
  values[5] = 1;
  expectFailure(ErrorCode::Internal, {"31", "multiple of 32"},
                [&] { quantizeDequantize(INT8, values.data(), 31); });
  for (WeightFormat format : {F32, MXFP4})
    expectFailure(ErrorCode::Internal, {"no quantizer"},
                  [&] { quantizeDequantize(format, values.data(), 32); });
}

TEST(Blocks, ColumnOrderedNibblesAreSplitIntoHalves) {
  uint8_t in[16], out[16];
  for (int i = 0; i < 16;
       ++i) // column c has the code c mod 16 + (c div 16 in the upper half: 15 -)
    in[i] = uint8_t(i < 8 ? (2 * i) | (2 * i + 1) << 4
                          : (15 - (2 * i - 16)) | (15 - (2 * i - 15)) << 4);
  splitNibbles(in, out);
  for (int j = 0; j < 16; ++j)
    EXPECT_EQ(out[j], j | (15 - j) << 4);
}

TEST(Blocks, EveryFormatDecodesToItsDefinition) {
  std::mt19937_64 random(seed);
  for (WeightFormat format : {MXFP4, INT8, INT4, INT4A}) {
    std::vector<uint8_t> bytes;
    addSampleBlocks(format, 100, bytes, random);
    float values[32];
    for (uint64_t block = 0; block < 100; ++block) {
      decodeBlock(format, &bytes[block * blockBytes(format)], values);
      EXPECT_TRUE(isFiniteBlock(format, &bytes[block * blockBytes(format)]));
      for (uint64_t i = 0; i < 32; ++i)
        EXPECT_EQ(values[i], decodeSampleBlock(format, bytes, block * 32 + i)) << "seed " << seed;
    }
  }
}

} // namespace
} // namespace inf
