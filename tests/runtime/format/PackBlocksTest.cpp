// Packing of the block formats int8, int4, int4a, and of mxfp4 in one tensor.
#include <cmath>

#include "runtime/format/Pack.h"
#include "runtime/format/Quantize.h"
#include "tests/runtime/format/TestSupport.h"

namespace inf {
namespace {

using namespace test;
using enum WeightFormat;
using enum PackedLayout;

constexpr uint64_t seed = 20240612; // printed with every failure; change it here to repeat another
constexpr WeightFormat quantized[] = {INT8, INT4, INT4A};

void expectRoundTrip(const SampleWeight &weight, PackedSpec spec,
                     const std::vector<float> &expected) {
  SCOPED_TRACE(fmt::format("seed {}, {}", seed, describe(weight, spec)));
  ASSERT_EQ(whyNotPackable(weight.decl, spec), std::nullopt);
  EXPECT_EQ(unpackAll(weight.decl, spec, packAll(weight.decl, spec, weight.source)), expected);
}

/// The sample's values after the quantizer, block by block.
std::vector<float> quantizedLogical(const SampleWeight &weight, WeightFormat format) {
  std::vector<float> values = weight.logical;
  quantizeDequantize(format, values.data(), values.size());
  return values;
}

TEST(PackBlocks, BlocksStoredInThePackedFormatKeepTheirValuesAtEveryAwkwardShape) {
  std::mt19937_64 random(seed);
  for (WeightFormat format : {MXFP4, INT8, INT4, INT4A})
    for (PackedLayout layout : {Panel16, Panel16Pairs})
      for (bool interleaved : {false, true})
        for (uint64_t experts : {1, 3})
          for (uint64_t rows : {1, 2, 15, 17, 34, 160})
            for (uint64_t columns : {32, 96}) {
              if ((layout == Panel16Pairs || interleaved) && rows % 2 != 0)
                continue;
              const auto weight =
                  makeSample({format, experts, rows, columns, false, interleaved, true}, random);
              expectRoundTrip(weight, {format, layout}, weight.logical);
            }
}

TEST(PackBlocks, DenseAndOtherBlocksArePackedAsTheQuantizerSays) {
  std::mt19937_64 random(seed);
  for (WeightFormat format : quantized)
    for (WeightFormat stored : {F32, F16, BF16, INT8, INT4, INT4A})
      for (PackedLayout layout : {Panel16, Panel16Pairs})
        for (uint64_t rows : {2, 34}) {
          const auto weight = makeSample({stored, 2, rows, 64}, random);
          if (stored != format)
            expectRoundTrip(weight, {format, layout}, quantizedLogical(weight, format));
        }
}

TEST(PackBlocks, Mxfp4IsQuantizedThroughItsExactValues) {
  std::mt19937_64 random(seed);
  for (bool oneTensor : {false, true}) {
    auto weight = makeSample({MXFP4, 1, 17, 64, false, false, oneTensor}, random);
    // Scales that f16 can follow: 2^-4 and 2^-3.
    for (auto &[name, bytes] : weight.source.tensors)
      for (size_t i = 0; i < bytes.size(); ++i)
        if (oneTensor ? i % 17 == 0 : name == "tensor_scales")
          bytes[i] = uint8_t(123 + i % 2);
    weight.logical.clear();
    computeLogical(weight);
    for (WeightFormat format : quantized)
      expectRoundTrip(weight, {format, Panel16}, quantizedLogical(weight, format));
  }
}

TEST(PackBlocks, PartsInThePackedFormatAreMovedAndOnlyTheOthersQuantized) {
  std::mt19937_64 random(seed);
  SampleWeight weight;
  weight.decl = {"fused", 2, 10 + 7 + 40, 32, {}};
  addSamplePart(weight, {INT8, 2, 10, 32}, "q", random);
  addSamplePart(weight, {BF16, 2, 7, 32, true}, "k", random);
  addSamplePart(weight, {INT4A, 2, 40, 32, false, true}, "v", random);
  computeLogical(weight);
  auto expected = quantizedLogical(weight, INT8);
  for (uint64_t expert = 0; expert < 2; ++expert)
    for (uint64_t i = 0; i < 10 * 32; ++i)
      expected[expert * 57 * 32 + i] = weight.logical[expert * 57 * 32 + i];
  ASSERT_NE(expected, quantizedLogical(weight, INT8)); // stored blocks are not the quantizer's
  expectRoundTrip(weight, {INT8, Panel16}, expected);
}

TEST(PackBlocks, BlockTensorsReadAsDenseRowsForEmbeddings) {
  std::mt19937_64 random(seed);
  for (WeightFormat stored : {MXFP4, INT8, INT4, INT4A}) {
    const auto weight = makeSample({stored, 1, 17, 64, false, false, true}, random);
    expectRoundTrip(weight, {F32, Rows}, weight.logical);
  }
}

TEST(PackBlocks, TablesOfRowsKeepTheirBlocks) {
  std::mt19937_64 random(seed);
  for (WeightFormat format : quantized) {
    const auto stored = makeSample({format, 1, 37, 64}, random);
    expectRoundTrip(stored, {format, Rows}, stored.logical);
    EXPECT_EQ(packAll(stored.decl, {format, Rows}, stored.source),
              stored.source.tensors.begin()->second)
        << "rows of blocks are what the checkpoint holds";
    const auto dense = makeSample({F32, 1, 37, 64}, random);
    expectRoundTrip(dense, {format, Rows}, quantizedLogical(dense, format));
  }
}

TEST(PackBlocks, ReadRowsAsGivesWhatThePackedWeightHolds) {
  std::mt19937_64 random(seed);
  for (WeightFormat stored : {F32, BF16, INT8, INT4A})
    for (WeightFormat format : {F16, BF16, INT8, INT4, INT4A}) {
      const auto weight = makeSample({stored, 2, 20, 64}, random);
      const auto packed = packAll(weight.decl, {format, Panel16}, weight.source);
      const auto held = unpackAll(weight.decl, {format, Panel16}, packed);
      std::vector<float> rows(7 * 64);
      readRowsAs(weight.decl, format, weight.source, 1, 11, 7, rows.data());
      EXPECT_EQ(rows, std::vector<float>(held.begin() + (20 + 11) * 64,
                                         held.begin() + (20 + 11 + 7) * 64))
          << "seed " << seed << ", " << weightFormatName(stored) << " to "
          << weightFormatName(format);
    }
}

/// One weight of `rows` rows of 32 columns in GGUF blocks.
struct Handmade {
  Handmade(WeightFormat format, uint64_t rows)
      : decl{"w", 1, rows, 32, {{"t", "", format, rows, false, false}}} {}
  void addBlock(std::vector<uint8_t> scale, const std::vector<uint8_t> &codes) {
    auto &bytes = source.tensors["t"];
    bytes.insert(bytes.end(), scale.begin(), scale.end());
    bytes.insert(bytes.end(), codes.begin(), codes.end());
  }
  WeightDecl decl;
  MemorySource source;
};

std::vector<uint8_t> countFrom(uint8_t first, size_t count) {
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i)
    bytes[i] = uint8_t(first + i);
  return bytes;
}

TEST(PackBlocks, Int8CodesAndScalesLieWhereTheLayoutSays) {
  Handmade weight(INT8, 2);
  weight.addBlock({0x34, 0x12}, countFrom(0, 32));
  weight.addBlock({0x78, 0x56}, countFrom(200, 32)); // -56..-25
  const auto packed = packAll(weight.decl, {INT8, Panel16}, weight.source);
  ASSERT_EQ(packed.size(), 544u);
  for (uint64_t column = 0; column < 32; ++column) {
    const uint64_t place = column / 4 * 64 + column % 4;
    EXPECT_EQ(packed[place], 128 + column);
    EXPECT_EQ(packed[place + 4], 200 - 128 + column);
    EXPECT_EQ(packed[place + 8], 0); // the other outputs are padding
  }
  const std::vector<uint8_t> scales(packed.begin() + 512, packed.begin() + 518);
  EXPECT_THAT(scales, testing::ElementsAre(0x34, 0x12, 0x78, 0x56, 0, 0));
}

TEST(PackBlocks, Int4NibblesLieAsMxfp4sAndKeepTheirBits) {
  Handmade weight(INT4, 2);
  weight.addBlock({0x34, 0x12}, countFrom(0x10, 16));
  weight.addBlock({0x78, 0x56}, countFrom(0xa0, 16));
  const auto packed = packAll(weight.decl, {INT4, Panel16}, weight.source);
  ASSERT_EQ(packed.size(), 288u);
  for (uint64_t j = 0; j < 16; ++j) {
    EXPECT_EQ(packed[j / 4 * 64 + j % 4], 0x10 + j);
    EXPECT_EQ(packed[j / 4 * 64 + 4 + j % 4], 0xa0 + j);
    EXPECT_EQ(packed[j / 4 * 64 + 8 + j % 4], 0);
  }
  const std::vector<uint8_t> scales(packed.begin() + 256, packed.begin() + 262);
  EXPECT_THAT(scales, testing::ElementsAre(0x34, 0x12, 0x78, 0x56, 0, 0));
}

TEST(PackBlocks, Int4aMinimumsFollowTheSixteenScales) {
  Handmade weight(INT4A, 2);
  weight.addBlock({0x34, 0x12, 0x01, 0x02}, countFrom(0x10, 16));
  weight.addBlock({0x78, 0x56, 0x03, 0x04}, countFrom(0xa0, 16));
  const auto packed = packAll(weight.decl, {INT4A, Panel16}, weight.source);
  ASSERT_EQ(packed.size(), 320u);
  EXPECT_EQ(packed[64 + 4 + 1], 0xa5);
  const std::vector<uint8_t> scales(packed.begin() + 256, packed.begin() + 262);
  EXPECT_THAT(scales, testing::ElementsAre(0x34, 0x12, 0x78, 0x56, 0, 0));
  const std::vector<uint8_t> minimums(packed.begin() + 288, packed.begin() + 294);
  EXPECT_THAT(minimums, testing::ElementsAre(0x01, 0x02, 0x03, 0x04, 0, 0));
}

TEST(PackBlocks, Mxfp4InOneTensorPacksToTheSameBytesAsInTwo) {
  std::mt19937_64 random(seed);
  const auto two = makeSample({MXFP4, 2, 17, 96}, random);
  Handmade one(MXFP4, 17);
  one.decl.experts = 2, one.decl.columns = 96;
  const auto &codes = two.source.tensors.at("tensor"),
             &scales = two.source.tensors.at("tensor_scales");
  const auto code = [&](uint64_t index) { return codes[index / 2] >> (index % 2 * 4) & 15; };
  for (uint64_t block = 0; block < scales.size(); ++block) {
    std::vector<uint8_t> bytes(16);
    for (uint64_t j = 0; j < 16; ++j)
      bytes[j] = uint8_t(code(block * 32 + j) | code(block * 32 + 16 + j) << 4);
    one.addBlock({scales[block]}, bytes);
  }
  EXPECT_EQ(packAll(one.decl, {MXFP4, Panel16}, one.source),
            packAll(two.decl, {MXFP4, Panel16}, two.source));
}

TEST(PackBlocks, WhatCanNotBePackedSaysWhy) {
  using testing::HasSubstr, testing::Optional;
  for (WeightFormat format : quantized) {
    const std::string name(weightFormatName(format));
    WeightDecl decl = {"w", 1, 16, 33, {{"t", "", BF16, 16, false, false}}};
    EXPECT_THAT(whyNotPackable(decl, {format, Panel16}),
                Optional(HasSubstr(name + " needs columns")));
    decl.columns = 32;
    decl.parts[0].stored = format;
    EXPECT_THAT(whyNotPackable(decl, {MXFP4, Panel16}), Optional(HasSubstr("stored as " + name)));
    decl.parts[0].transposed = true;
    EXPECT_THAT(whyMalformed(decl), Optional(HasSubstr("transposed")));
    decl.parts[0].transposed = false, decl.parts[0].scales = "s";
    EXPECT_THAT(whyMalformed(decl), Optional(HasSubstr("scales tensor")));
    decl.parts[0].scales = "", decl.columns = 48;
    EXPECT_THAT(whyMalformed(decl), Optional(HasSubstr("multiple of 32")));
  }
}

TEST(PackBlocks, AScaleThatIsNotFiniteIsNamedByTensorAndBlock) {
  std::mt19937_64 random(seed);
  const auto expectRefusal = [&](WeightFormat format, uint64_t byte, uint16_t bits) {
    auto weight = makeSample({format, 2, 16, 96}, random);
    const uint64_t block = (1 * 16 + 4) * 3 + 2, size = weightBytes(format, 32);
    std::memcpy(&weight.source.tensors["tensor"][block * size + byte], &bits, 2);
    for (WeightFormat packed : {INT8, INT4, INT4A})
      expectFailure(ErrorCode::BadInput, {"layers.0.sample", "'tensor'", "block index 62"}, [&] {
        packAll(weight.decl, {packed, Panel16}, weight.source);
      });
    std::vector<float> rows(16 * 96);
    expectFailure(ErrorCode::BadInput, {"'tensor'", "block index 62"},
                  [&] { readRowsF32(weight.decl, weight.source, 1, 0, 16, rows.data()); });
  };
  for (uint16_t bits : {0x7c00, 0xfc00, 0x7e01})
    for (WeightFormat format : quantized)
      expectRefusal(format, 0, bits);
  expectRefusal(INT4A, 2, 0x7c00);
}

TEST(PackBlocks, ANanScaleOfMxfp4InOneTensorIsNamed) {
  std::mt19937_64 random(seed);
  auto weight = makeSample({MXFP4, 1, 16, 64, false, false, true}, random);
  weight.source.tensors["tensor"][5 * 17] = 255;
  expectFailure(ErrorCode::BadInput, {"'tensor'", "255", "index 5"}, [&] {
    packAll(weight.decl, {MXFP4, Panel16}, weight.source);
  });
}

TEST(PackBlocks, ValuesBeyondF16ScalesAndNonFiniteOnesAreNamedByTensorAndIndex) {
  std::mt19937_64 random(seed);
  for (WeightFormat format : quantized)
    for (float value : {1e9f, -3e38f, std::nanf(""), float(INFINITY)}) {
      auto weight = makeSample({F32, 2, 16, 64}, random);
      const uint64_t index = (16 + 3) * 64 + 40; // in the second block of its row
      std::memcpy(&weight.source.tensors["tensor"][index * 4], &value, 4);
      const uint64_t named = std::isfinite(value) ? index / 32 * 32 : index;
      expectFailure(ErrorCode::BadInput, {"'tensor'", fmt::format("index {}", named)}, [&] {
        packAll(weight.decl, {format, Panel16}, weight.source);
      });
    }
}

} // namespace
} // namespace inf
