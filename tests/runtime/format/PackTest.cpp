#include <numeric>

#include "runtime/format/Pack.h"
#include "tests/runtime/format/TestSupport.h"

namespace inf {
namespace {

using namespace test;

constexpr uint64_t seed = 20240611; // printed with every failure; change it here to repeat another

void expectRoundTrip(const SampleWeight &weight, PackedSpec spec) {
  SCOPED_TRACE(fmt::format("seed {}, {}", seed, describe(weight, spec)));
  ASSERT_EQ(whyNotPackable(weight.decl, spec), std::nullopt);
  const auto packed = packAll(weight.decl, spec, weight.source);
  EXPECT_EQ(unpackAll(weight.decl, spec, packed), weight.logical);
}

bool isPairs(PackedLayout layout) { return isPairsLayout(layout); }

TEST(Pack, UnpackingGivesBackEveryDenseFormatLayoutAndAwkwardShape) {
  std::mt19937_64 random(seed);
  for (WeightFormat format : {WeightFormat::F32, WeightFormat::F16, WeightFormat::BF16})
    for (PackedLayout layout :
         {PackedLayout::Rows, PackedLayout::Panel16, PackedLayout::Panel16Pairs})
      for (uint64_t experts : {1, 3})
        for (uint64_t rows : {1, 2, 15, 17, 34, 160})
          for (uint64_t columns : {1, 33}) {
            if ((isPairs(layout) && rows % 2) || (layout == PackedLayout::Rows && experts > 1))
              continue;
            expectRoundTrip(makeSample({format, experts, rows, columns}, random), {format, layout});
          }
}

TEST(Pack, UnpackingGivesBackBf16WithColumnsSideBySide) {
  std::mt19937_64 random(seed);
  for (PackedLayout layout : {PackedLayout::Panel16By2, PackedLayout::Panel16PairsBy2})
    for (uint64_t experts : {1, 3})
      for (uint64_t rows : {1, 2, 15, 17, 34, 160})
        for (uint64_t columns : {1, 2, 3, 32, 33})
          if (!isPairs(layout) || rows % 2 == 0)
            expectRoundTrip(makeSample({WeightFormat::BF16, experts, rows, columns}, random),
                            {WeightFormat::BF16, layout});
}

TEST(Pack, UnpackingGivesBackMxfp4AtEveryAwkwardShape) {
  std::mt19937_64 random(seed);
  for (PackedLayout layout : {PackedLayout::Panel16, PackedLayout::Panel16Pairs})
    for (WeightFormat format : {WeightFormat::MXFP4, WeightFormat::F32})
      for (uint64_t experts : {1, 3})
        for (uint64_t rows : {1, 2, 15, 17, 34, 160})
          for (uint64_t columns : {32, 96})
            if (!isPairs(layout) || rows % 2 == 0)
              expectRoundTrip(makeSample({WeightFormat::MXFP4, experts, rows, columns}, random),
                              {format, layout});
}

TEST(Pack, UnpackingGivesBackVectorsWhateverTheyAreStoredAs) {
  std::mt19937_64 random(seed);
  for (WeightFormat stored : {WeightFormat::F32, WeightFormat::F16, WeightFormat::BF16})
    for (PackedLayout layout : {PackedLayout::Vector, PackedLayout::VectorPairs})
      for (uint64_t experts : {1, 3})
        for (uint64_t rows : {1, 2, 15, 17, 34, 160})
          if (!isPairs(layout) || rows % 2 == 0)
            expectRoundTrip(makeSample({stored, experts, rows, 1}, random),
                            {WeightFormat::F32, layout});
}

TEST(Pack, TransposedAndInterleavedSourcesReadAsTheirLogicalRows) {
  std::mt19937_64 random(seed);
  for (bool transposed : {false, true})
    for (bool interleaved : {false, true})
      for (uint64_t rows : {2, 34, 96})
        for (PackedLayout layout : {PackedLayout::Panel16, PackedLayout::Panel16Pairs})
          expectRoundTrip(
              makeSample({WeightFormat::BF16, 3, rows, 33, transposed, interleaved}, random),
              {WeightFormat::BF16, layout});
  for (uint64_t rows : {2, 34, 96})
    expectRoundTrip(makeSample({WeightFormat::MXFP4, 3, rows, 64, false, true}, random),
                    {WeightFormat::MXFP4, PackedLayout::Panel16Pairs});
}

TEST(Pack, PartsOfDifferentFormatsAreJoinedAcrossPanelBorders) {
  std::mt19937_64 random(seed);
  SampleWeight weight;
  weight.decl = {"fused", 2, 10 + 7 + 40, 32, {}};
  addSamplePart(weight, {WeightFormat::F32, 2, 10, 32}, "q", random);
  addSamplePart(weight, {WeightFormat::BF16, 2, 7, 32, true}, "k", random);
  addSamplePart(weight, {WeightFormat::MXFP4, 2, 40, 32, false, true}, "v", random);
  computeLogical(weight);
  expectRoundTrip(weight, {WeightFormat::F32, PackedLayout::Panel16});
}

/// Cuts each tensor of the weight into one for each expert, named by "{expert}".
void cutByExpert(SampleWeight &weight) {
  for (WeightPart &part : weight.decl.parts)
    for (std::string *name : {&part.tensor, &part.scales}) {
      if (name->empty())
        continue;
      const std::vector<uint8_t> whole = weight.source.tensors.at(*name);
      const size_t bytes = whole.size() / weight.decl.experts;
      for (uint64_t expert = 0; expert < weight.decl.experts; ++expert)
        weight.source.tensors["expert." + std::to_string(expert) + "." + *name] = {
            whole.begin() + ptrdiff_t(expert * bytes),
            whole.begin() + ptrdiff_t((expert + 1) * bytes)};
      weight.source.tensors.erase(*name);
      *name = "expert.{expert}." + *name;
    }
}

TEST(Pack, ExpertsOfATensorEachPackLikeThoseOfOneTensor) {
  std::mt19937_64 random(17);
  const SampleShape shapes[] = {
      {WeightFormat::F32, 3, 40, 64},
      {WeightFormat::BF16, 3, 40, 64, true},
      {WeightFormat::F16, 3, 40, 64, false, true},
      {WeightFormat::MXFP4, 3, 40, 64},
      {WeightFormat::INT8, 3, 40, 64, false, false, true},
  };
  for (const SampleShape &shape : shapes) {
    SCOPED_TRACE(std::string(weightFormatName(shape.stored)) + ", seed 17");
    SampleWeight weight = makeSample(shape, random);
    const PackedSpec spec{shape.stored, PackedLayout::Panel16};
    const std::vector<uint8_t> whole = packAll(weight.decl, spec, weight.source);
    cutByExpert(weight);
    EXPECT_EQ(packAll(weight.decl, spec, weight.source), whole);
  }
}

TEST(Pack, MarksOfExpertsStandInBothNamesOrInNone) {
  std::mt19937_64 random(18);
  SampleWeight weight = makeSample({WeightFormat::MXFP4, 2, 16, 32}, random);
  weight.decl.parts[0].scales = "expert.{expert}.scales";
  EXPECT_THAT(whyMalformed(weight.decl).value_or(""), testing::HasSubstr("in both names"));
}

TEST(Pack, AMarkForEndlessExpertsIsRefused) {
  const WeightDecl decl{
      "w", 2049, 16, 32, {{"e.{expert}", "", WeightFormat::F32, 16, false, false}}};
  EXPECT_THAT(whyMalformed(decl).value_or(""), testing::HasSubstr("expected at most 2048"));
}

TEST(Pack, GateAndUpRowsOfAnInterleavedTensorAlternateByPanel) {
  SampleWeight weight;
  weight.decl = {"gate_up", 1, 40, 1, {{"t", "", WeightFormat::F32, 40, false, true}}};
  for (int row = 0; row < 20; ++row) // stored 2r: gate r = r; stored 2r + 1: up r = 100 + r
    for (float value : {float(row), float(100 + row)}) {
      const auto *bytes = reinterpret_cast<const uint8_t *>(&value);
      weight.source.tensors["t"].insert(weight.source.tensors["t"].end(), bytes, bytes + 4);
    }
  std::vector<float> expected(4 * 16, 0.0f); // gate 0-15, up 0-15, gate 16-19, up 16-19
  for (int row = 0; row < 20; ++row) {
    expected[size_t(row / 16 * 32 + row % 16)] = float(row);
    expected[size_t(row / 16 * 32 + 16 + row % 16)] = float(100 + row);
  }
  for (PackedLayout layout : {PackedLayout::VectorPairs, PackedLayout::Panel16Pairs}) {
    const auto packed = packAll(weight.decl, {WeightFormat::F32, layout}, weight.source);
    std::vector<float> found(packed.size() / 4);
    std::memcpy(found.data(), packed.data(), packed.size());
    EXPECT_EQ(found, expected) << packedLayoutName(layout);
  }
}

TEST(Pack, Mxfp4CodesLieWhereTheLayoutSays) {
  // Two rows of 64 columns: column c of row 0 has code c mod 16, of row 1 the code (c + 5) mod 16.
  MemorySource source;
  WeightDecl decl = {"w", 1, 2, 64, {{"blocks", "scales", WeightFormat::MXFP4, 2, false, false}}};
  source.tensors["scales"] = {10, 11, 20, 21};
  for (int row = 0; row < 2; ++row)
    for (int i = 0; i < 32; ++i) {
      const int low = (2 * i + 5 * row) % 16, high = (2 * i + 1 + 5 * row) % 16;
      source.tensors["blocks"].push_back(uint8_t(low | high << 4));
    }
  const auto packed = packAll(decl, {WeightFormat::MXFP4, PackedLayout::Panel16}, source);
  ASSERT_EQ(packed.size(), 2u * 272);
  // By hand, block 0, row 0, j = 1: columns 4..7 low, columns 20..23 (codes 4..7) high.
  const std::vector<uint8_t> line(packed.begin() + 64, packed.begin() + 72);
  EXPECT_THAT(line, testing::ElementsAre(0x44, 0x55, 0x66, 0x77, 0x99, 0xaa, 0xbb, 0xcc));
  EXPECT_EQ(packed[256], 10); // scales of block 0: row 0, row 1, then zeros
  EXPECT_EQ(packed[257], 20);
  EXPECT_EQ(packed[258], 0);
  EXPECT_EQ(packed[272 + 256], 11);
  EXPECT_EQ(packed[272 + 257], 21);
  for (uint64_t j = 0; j < 4; ++j) // the other 14 outputs are padding
    for (uint64_t byte = 8; byte < 64; ++byte)
      EXPECT_EQ(packed[j * 64 + byte], 0);
}

TEST(Pack, Mxfp4LowAndHighNibblesAreSixteenColumnsApart) {
  for (uint64_t column = 0; column < 32; ++column) {
    MemorySource source;
    WeightDecl decl = {"w", 1, 16, 32, {{"b", "s", WeightFormat::MXFP4, 16, false, false}}};
    source.tensors["s"].assign(16, 127);
    source.tensors["b"].assign(16 * 16, 0);
    source.tensors["b"][9 * 16 + column / 2] = column % 2 ? 0x70 : 0x07; // output 9
    const auto packed = packAll(decl, {WeightFormat::MXFP4, PackedLayout::Panel16}, source);
    for (uint64_t byte = 0; byte < 256; ++byte) {
      const uint64_t place = column % 16 / 4 * 64 + 9 * 4 + column % 4;
      EXPECT_EQ(packed[byte], byte != place ? 0 : column < 16 ? 0x07 : 0x70) << column;
    }
  }
}

TEST(Pack, PaddingRowsAreZero) {
  std::mt19937_64 random(seed);
  const auto weight = makeSample({WeightFormat::BF16, 1, 17, 3}, random);
  const auto packed =
      packAll(weight.decl, {WeightFormat::BF16, PackedLayout::Panel16}, weight.source);
  ASSERT_EQ(packed.size(), 2u * 3 * 16 * 2);
  for (uint64_t column = 0; column < 3; ++column)
    for (uint64_t byte = 2; byte < 32; ++byte)
      EXPECT_EQ(packed[(3 + column) * 32 + byte], 0);
}

/// Two rows of 3 columns: bf16 of bits 0x0r0c for row r, column c.
TEST(Pack, TwoColumnsOfAnOutputLieSideBySideAndAnOddOneBesideZero) {
  MemorySource source;
  for (uint8_t row : {1, 2})
    for (uint8_t column : {1, 2, 3})
      source.tensors["t"].insert(source.tensors["t"].end(), {column, row});
  const WeightDecl decl = {"w", 1, 2, 3, {{"t", "", WeightFormat::BF16, 2, false, false}}};
  const auto packed = packAll(decl, {WeightFormat::BF16, PackedLayout::Panel16By2}, source);
  std::vector<uint8_t> expected(2 * 64, 0);
  const std::vector<uint8_t> first = {1, 1, 2, 1, 1, 2, 2, 2}, second = {3, 1, 0, 0, 3, 2, 0, 0};
  std::copy(first.begin(), first.end(), expected.begin());
  std::copy(second.begin(), second.end(), expected.begin() + 64);
  EXPECT_EQ(packed, expected);
}

TEST(Pack, NarrowingRoundsToNearestEvenAndKeepsStoredBitsOtherwise) {
  MemorySource source;
  const std::vector<float> values = {1.00390625f, 1.01171875f, -0.0f, 65504.0f}; // ties, then exact
  source.tensors["t"].resize(16);
  std::memcpy(source.tensors["t"].data(), values.data(), 16);
  const WeightDecl decl = {"w", 1, 1, 4, {{"t", "", WeightFormat::F32, 1, false, false}}};
  const auto packed = packAll(decl, {WeightFormat::BF16, PackedLayout::Rows}, source);
  std::vector<uint16_t> bits(4);
  std::memcpy(bits.data(), packed.data(), 8);
  EXPECT_THAT(bits, testing::ElementsAre(0x3f80, 0x3f82, 0x8000, 0x4780));
}

TEST(Pack, WhatCanNotBePackedSaysWhy) {
  using enum PackedLayout;
  using testing::HasSubstr, testing::Optional;
  const auto dense = [](uint64_t experts, uint64_t rows, uint64_t columns) {
    return WeightDecl{
        "w", experts, rows, columns, {{"t", "", WeightFormat::BF16, rows, false, false}}};
  };
  const auto why = [](const WeightDecl &decl, WeightFormat format, PackedLayout layout) {
    return whyNotPackable(decl, {format, layout});
  };
  EXPECT_THAT(why(dense(1, 16, 33), WeightFormat::MXFP4, Panel16), Optional(HasSubstr("33")));
  EXPECT_THAT(why(dense(1, 16, 32), WeightFormat::MXFP4, Panel16), Optional(HasSubstr("bf16")));
  EXPECT_THAT(why(dense(1, 16, 32), WeightFormat::F32, Vector), Optional(HasSubstr("32 columns")));
  EXPECT_THAT(why(dense(1, 16, 1), WeightFormat::BF16, Vector), Optional(HasSubstr("f32")));
  EXPECT_THAT(why(dense(1, 15, 8), WeightFormat::BF16, Panel16Pairs), Optional(HasSubstr("odd")));
  EXPECT_THAT(why(dense(1, 16, 8), WeightFormat::F16, Panel16By2), Optional(HasSubstr("is bf16")));
  EXPECT_THAT(why(dense(1, 15, 8), WeightFormat::BF16, Panel16PairsBy2),
              Optional(HasSubstr("odd")));
  EXPECT_THAT(why(dense(2, 16, 8), WeightFormat::BF16, Rows), Optional(HasSubstr("expert")));
  EXPECT_THAT(why(dense(0, 16, 8), WeightFormat::BF16, Panel16), Optional(HasSubstr("no zero")));
  EXPECT_THAT(why(dense(1ull << 40, 1ull << 40, 8), WeightFormat::BF16, Panel16),
              Optional(HasSubstr("2^50")));
  WeightDecl parts = dense(1, 16, 8);
  parts.rows = 17;
  EXPECT_THAT(why(parts, WeightFormat::BF16, Panel16), Optional(HasSubstr("expected 17")));
  EXPECT_THAT(why(dense(1, 16, 8), WeightFormat(9), Panel16), Optional(HasSubstr("not known")));
}

TEST(Pack, ANonFiniteValueIsNamedByTensorAndIndex) {
  std::mt19937_64 random(seed);
  auto weight = makeSample({WeightFormat::BF16, 3, 34, 5, false, true}, random);
  const uint64_t index = (2 * 34 + 7) * 5 + 4; // expert 2, stored row 7 (an up row), column 4
  const uint16_t nan = 0x7fc0;
  std::memcpy(&weight.source.tensors["tensor"][index * 2], &nan, 2);
  const PackedSpec spec = {WeightFormat::BF16, PackedLayout::Panel16Pairs};
  expectFailure(ErrorCode::BadInput,
                {"layers.0.sample", "'tensor'", fmt::format("index {}", index), "nan"},
                [&] { packAll(weight.decl, spec, weight.source); });
  std::vector<float> row(5);
  expectFailure(ErrorCode::BadInput, {fmt::format("index {}", index)},
                [&] { readRowsF32(weight.decl, weight.source, 2, 17 + 3, 1, row.data()); });
}

TEST(Pack, AValueThatOverflowsTheNarrowerFormatIsRefused) {
  MemorySource source;
  const float big = 70000;
  source.tensors["t"].resize(4);
  std::memcpy(source.tensors["t"].data(), &big, 4);
  const WeightDecl decl = {"w", 1, 1, 1, {{"t", "", WeightFormat::F32, 1, false, false}}};
  expectFailure(ErrorCode::BadInput, {"after conversion to f16", "index 0"}, [&] {
    packAll(decl, {WeightFormat::F16, PackedLayout::Panel16}, source);
  });
}

TEST(Pack, ANanScaleByteIsNamedByTensorAndIndex) {
  std::mt19937_64 random(seed);
  auto weight = makeSample({WeightFormat::MXFP4, 2, 16, 96}, random);
  weight.source.tensors["tensor_scales"][(1 * 16 + 4) * 3 + 2] = 255;
  const std::vector<std::string> parts = {"layers.0.sample", "'tensor_scales'", "255", "index 62"};
  expectFailure(ErrorCode::BadInput, parts, [&] {
    packAll(weight.decl, {WeightFormat::MXFP4, PackedLayout::Panel16}, weight.source);
  });
  std::vector<float> rows(16 * 96);
  expectFailure(ErrorCode::BadInput, parts,
                [&] { readRowsF32(weight.decl, weight.source, 1, 0, 16, rows.data()); });
}

TEST(Pack, AnMxfp4ValueBeyondF32IsRefusedAndTheLargestOneIsNot) {
  MemorySource source;
  const WeightDecl decl = {"w", 1, 1, 32, {{"b", "s", WeightFormat::MXFP4, 1, false, false}}};
  source.tensors["b"].assign(16, 0x33); // 1.5
  source.tensors["s"] = {254};
  std::vector<float> row(32);
  readRowsF32(decl, source, 0, 0, 1, row.data());
  EXPECT_EQ(row[0], 0x1.8p127f);
  source.tensors["b"][3] = 0x34; // 2 * 2^127
  expectFailure(ErrorCode::BadInput, {"254", "beyond the range"},
                [&] { readRowsF32(decl, source, 0, 0, 1, row.data()); });
}

TEST(Pack, RowsOutsideOfTheWeightAreRefused) {
  std::mt19937_64 random(seed);
  const auto weight = makeSample({WeightFormat::BF16, 2, 16, 4}, random);
  std::vector<float> rows(17 * 4);
  const auto read = [&](uint64_t expert, uint64_t first, uint64_t count) {
    expectFailure(ErrorCode::BadInput, {"layers.0.sample"}, [&] {
      readRowsF32(weight.decl, weight.source, expert, first, count, rows.data());
    });
  };
  read(2, 0, 1);
  read(0, 16, 1);
  read(0, 1, 16);
  read(0, 1, UINT64_MAX);
}

} // namespace
} // namespace inf
