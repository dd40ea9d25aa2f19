#include <cmath>

#include "runtime/format/Pack.h"
#include "tests/runtime/format/TestSupport.h"

namespace inf {
namespace {

using namespace test;

std::vector<WeightDecl> sampleDecls() {
  const auto dense = [](const char *name, WeightFormat stored, uint64_t rows, uint64_t columns) {
    return WeightDecl{name, 1, rows, columns, {{name, "", stored, rows, false, false}}};
  };
  return {dense("bf16", WeightFormat::BF16, 64, 768),
          dense("f16", WeightFormat::F16, 64, 768),
          dense("f32", WeightFormat::F32, 64, 768),
          dense("input_norm", WeightFormat::BF16, 801, 1),
          dense("bias", WeightFormat::BF16, 801, 1),
          {"experts", 2, 64, 768, {{"blocks", "scales", WeightFormat::MXFP4, 64, false, true}}}};
}

uint64_t tensorBytes(const WeightDecl &decl) {
  return weightBytes(decl.parts[0].stored, decl.experts * decl.rows * decl.columns);
}

struct Moments {
  double mean = 0, deviation = 0;
};

Moments momentsOf(const WeightDecl &decl, const WeightSource &source) {
  std::vector<float> values(decl.rows * decl.columns);
  readRowsF32(decl, source, 0, 0, decl.rows, values.data()); // fails when not finite
  Moments result;
  for (float value : values)
    result.mean += value / double(values.size());
  for (float value : values)
    result.deviation += (value - result.mean) * (value - result.mean) / double(values.size());
  result.deviation = std::sqrt(result.deviation);
  return result;
}

TEST(RandomSource, BytesAreTheSameHoweverTheReadIsSplit) {
  const auto decls = sampleDecls();
  const auto source = makeRandomSource(7, decls);
  std::mt19937_64 random(99);
  for (const char *name : {"bf16", "f16", "f32", "input_norm", "blocks", "scales"}) {
    const uint64_t bytes =
        std::string(name) == "input_norm" ? 1602 : 3072; // 1602: no multiple of 8
    std::vector<uint8_t> whole(bytes), pieces(bytes);
    source->read(name, 0, whole);
    for (uint64_t offset = 0; offset < bytes;) {
      const uint64_t count = std::min<uint64_t>(1 + random() % 700, bytes - offset);
      source->read(name, offset, {pieces.data() + offset, count});
      offset += count;
    }
    EXPECT_EQ(whole, pieces) << name << ", seed 99";
  }
}

std::vector<WeightDecl> blockDecls() {
  std::vector<WeightDecl> decls;
  for (WeightFormat format :
       {WeightFormat::MXFP4, WeightFormat::INT8, WeightFormat::INT4, WeightFormat::INT4A}) {
    const std::string name(weightFormatName(format));
    decls.push_back({name, 2, 64, 768, {{name, "", format, 64, false, false}}});
  }
  return decls;
}

TEST(RandomSource, BlocksInOneTensorAreTheSameHoweverTheReadIsSplit) {
  const auto source = makeRandomSource(7, blockDecls());
  std::mt19937_64 random(98);
  for (const WeightDecl &decl : blockDecls()) {
    const uint64_t bytes = 5000;
    std::vector<uint8_t> whole(bytes), pieces(bytes);
    source->read(decl.name, 0, whole);
    for (uint64_t offset = 0; offset < bytes;) {
      const uint64_t count = std::min<uint64_t>(1 + random() % 70, bytes - offset);
      source->read(decl.name, offset, {pieces.data() + offset, count});
      offset += count;
    }
    EXPECT_EQ(whole, pieces) << decl.name << ", seed 98";
  }
}

TEST(RandomSource, BlocksHaveTheDeviationThatKeepsActivationsFiniteAndNoMean) {
  const auto source = makeRandomSource(3, blockDecls());
  const double wanted = 1 / std::sqrt(768.0);
  for (const WeightDecl &decl : blockDecls()) {
    const Moments moments = momentsOf(decl, *source);
    EXPECT_NEAR(moments.mean, 0, wanted / 50) << decl.name << ", seed 3";
    EXPECT_GT(moments.deviation, wanted / 1.42) << decl.name << ", seed 3";
    EXPECT_LT(moments.deviation, wanted * 1.42) << decl.name << ", seed 3";
  }
}

TEST(RandomSource, BlocksAreTheBytesOfEveryMachineAndRelease) {
  const auto source = makeRandomSource(42, blockDecls());
  const auto first = [&](const char *name) {
    std::vector<uint8_t> bytes(6);
    source->read(name, 0, bytes);
    return bytes;
  };
  EXPECT_THAT(first("mxfp4"), testing::ElementsAre(121, 132, 243, 103, 42, 109));
  EXPECT_THAT(first("int8"), testing::ElementsAre(112, 141, 19, 59, 46, 202));
  EXPECT_THAT(first("int4"), testing::ElementsAre(64, 159, 253, 22, 151, 218));
  EXPECT_THAT(first("int4a"), testing::ElementsAre(96, 156, 26, 40, 195, 95));
}

TEST(RandomSource, ExpertsOfATensorEachHaveBytesOfTheirOwn) {
  const WeightDecl decl{
      "experts", 3, 16, 32, {{"e.{expert}", "", WeightFormat::BF16, 16, false, false}}};
  const auto source = makeRandomSource(7, {decl});
  std::vector<uint8_t> first(1024), last(1024);
  source->read("e.0", 0, first);
  source->read("e.2", 0, last);
  EXPECT_NE(first, last);
  expectFailure(ErrorCode::BadInput, {"e.3"}, [&] { source->read("e.3", 0, first); });
}

TEST(RandomSource, SeedAndTensorNameChangeTheBytes) {
  const auto decls = sampleDecls();
  std::vector<uint8_t> a(64), b(64), c(64);
  makeRandomSource(1, decls)->read("bf16", 0, a);
  makeRandomSource(2, decls)->read("bf16", 0, b);
  makeRandomSource(1, decls)->read("f16", 0, c);
  EXPECT_NE(a, b);
  EXPECT_NE(a, c);
}

TEST(RandomSource, TheBytesAreThoseOfEveryMachineAndRelease) {
  // A model filled elsewhere must be the same: a change here is a change of the format.
  const auto source = makeRandomSource(42, sampleDecls());
  std::vector<uint16_t> bf16(4);
  source->read("bf16", 0, {reinterpret_cast<uint8_t *>(bf16.data()), 8});
  std::vector<uint8_t> scales(4), blocks(4);
  source->read("scales", 0, scales);
  source->read("blocks", 0, blocks);
  EXPECT_THAT(bf16, testing::ElementsAre(0x3c69, 0xbd4b, 0x3d76, 0xbd49));
  EXPECT_THAT(scales, testing::ElementsAre(120, 121, 120, 121));
  EXPECT_THAT(blocks, testing::ElementsAre(0x31, 0xee, 0xfe, 0x2e));
}

TEST(RandomSource, MatricesHaveTheDeviationThatKeepsActivationsFinite) {
  const auto decls = sampleDecls();
  const auto source = makeRandomSource(3, decls);
  const double wanted = 1 / std::sqrt(768.0);
  for (const WeightDecl &decl : decls) {
    if (decl.isVector())
      continue;
    const Moments moments = momentsOf(decl, *source);
    EXPECT_NEAR(moments.mean, 0, wanted / 50) << decl.name << ", seed 3";
    // MXFP4 scales are powers of two: the deviation is right within a factor of sqrt(2).
    const double slack = decl.name == "experts" ? 1.42 : 1.02;
    EXPECT_GT(moments.deviation, wanted / slack) << decl.name << ", seed 3";
    EXPECT_LT(moments.deviation, wanted * slack) << decl.name << ", seed 3";
  }
}

TEST(RandomSource, NormsAreAroundOneAndBiasesSmall) {
  const auto decls = sampleDecls();
  const auto source = makeRandomSource(3, decls);
  const Moments norm = momentsOf(decls[3], *source), bias = momentsOf(decls[4], *source);
  EXPECT_NEAR(norm.mean, 1, 0.02);
  EXPECT_NEAR(bias.mean, 0, 0.02);
  EXPECT_NEAR(norm.deviation, 0.125 / std::sqrt(3), 0.01);
  EXPECT_NEAR(bias.deviation, 0.125 / std::sqrt(3), 0.01);
}

TEST(RandomSource, UnknownTensorsAndRangesOutsideAreRefused) {
  const auto decls = sampleDecls();
  const auto source = makeRandomSource(1, decls);
  std::vector<uint8_t> out(8);
  expectFailure(ErrorCode::BadInput, {"'nothing'"}, [&] { source->read("nothing", 0, out); });
  const uint64_t bytes = tensorBytes(decls[0]);
  source->read("bf16", bytes - 8, out);
  for (uint64_t offset : {bytes - 7, bytes, UINT64_MAX - 3})
    expectFailure(ErrorCode::BadInput, {"'bf16'", fmt::format("{} bytes", bytes)},
                  [&] { source->read("bf16", offset, out); });
}

TEST(RandomSource, ATensorDeclaredTwiceMustBeDeclaredAlike) {
  auto decls = sampleDecls();
  decls.push_back(decls[0]);
  EXPECT_NO_THROW(makeRandomSource(1, decls));
  decls.back().rows = decls.back().parts[0].rows = 65;
  expectFailure(ErrorCode::BadInput, {"'bf16'", "twice"}, [&] { makeRandomSource(1, decls); });
}

} // namespace
} // namespace inf
