// Linear kernels for bf16 rows on AMX tiles, beyond what every kernel for bf16 rows must do
// (Bf16LinearKernelTest.cpp): the bits of FMAs in the same order, for any shape. Where this machine
// has no AMX, TileEmulation runs the tile instructions.
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/linear/Tiling.h"
#include "tests/codegen/LinearProblem.h"
#include "tests/codegen/TileEmulation.h"

namespace inf::test {
namespace {

using testing::ElementsAreArray;

constexpr unsigned seed = 20261129; // fixed: a failure repeats with the same command

KernelSpec amxSpec() {
  KernelSpec spec;
  spec.inputs = InputFormat::BF16, spec.weights = WeightFormat::BF16;
  spec.isa = KernelIsa::Amx, spec.rows = amxtiles::tileRows, spec.order = Bf16Order::Groups;
  return spec;
}

/// The same kernel by FMAs for any number of rows.
KernelSpec fmaSpec(KernelSpec spec) {
  spec.isa = KernelIsa::Avx512, spec.rows = 4;
  return spec;
}

FeatureSet usable() { return detectFeatures(hostCpuid()).usable; }

class AmxBf16LinearKernel : public testing::Test {
protected:
  void SetUp() override {
    const FeatureSet tiles = FeatureSet{}.with(Feature::AMXTILE).with(Feature::AMXBF16);
    const FeatureSet missing = (usable() | tiles).missing(kernelFeatures(amxSpec()));
    if (!missing.empty())
      GTEST_SKIP() << "this machine lacks " << missing.toString();
  }

  TileEmulation emulation;
};

void expectFmaBits(const KernelSpec &spec, LinearShape shape, unsigned problemSeed = seed) {
  LinearProblem problem(spec, shape, problemSeed);
  const std::vector<uint32_t> expected = bitsOf(runLinear(fmaSpec(spec), problem));
  ASSERT_THAT(bitsOf(runLinear(spec, problem)), ElementsAreArray(expected))
      << traceOf(spec, shape, problemSeed);
}

/// Every rest of one tile and of two, before and behind full ones.
TEST_F(AmxBf16LinearKernel, EveryRowCountGivesTheBitsOfFmas) {
  std::mt19937 random(seed);
  for (int64_t rows = 1; rows <= 300; ++rows)
    expectFmaBits(amxSpec(), {rows, 1 + static_cast<int64_t>(random() % 3),
                              1 + static_cast<int64_t>(random() % 100)});
}

/// Fewer than 32, chunks of 256 and what is left of them, with and without zeros behind; rows and
/// weights end at inaccessible pages.
TEST_F(AmxBf16LinearKernel, AnyNumberOfColumnsGivesTheBitsOfFmas) {
  for (int64_t columns = 1; columns <= 130; ++columns)
    expectFmaBits(amxSpec(), {8 + columns % 3, 3, columns});
  for (int64_t columns : {255, 256, 257, 288, 511, 512, 513, 543, 767, 2880})
    expectFmaBits(amxSpec(), {33, 2, columns});
}

TEST_F(AmxBf16LinearKernel, AnyShapeAndEpilogueGivesTheBitsOfFmas) {
  for (unsigned turn = 0; turn < 300; ++turn) {
    std::mt19937 random(seed + turn);
    KernelSpec spec = amxSpec();
    spec.bias = random() & 1, spec.scale = random() & 1;
    spec.addend = random() & 1, spec.residual = random() & 1;
    spec.activation = static_cast<Activation>(random() % 3);
    expectFmaBits(spec,
                  {1 + static_cast<int64_t>(random() % 80), 1 + static_cast<int64_t>(random() % 5),
                   1 + static_cast<int64_t>(random() % 300)},
                  seed + turn);
  }
}

/// Row r of `count` rows from `first` on.
std::vector<float> runSome(const KernelSpec &spec, LinearProblem &problem, size_t first,
                           int64_t count) {
  std::vector<float> out;
  LinearArgs args = problem.argsInto(out);
  args.x += first, args.y += first, args.addend += first, args.residual += first;
  args.rows = count;
  ExecutableKernel kernel(spec);
  kernel(args);
  const size_t width = static_cast<size_t>(problem.shape.panels) * 16;
  const auto begin = out.begin() + static_cast<std::ptrdiff_t>(first * width);
  return {begin, begin + count * static_cast<std::ptrdiff_t>(width)};
}

TEST_F(AmxBf16LinearKernel, ARowAloneHasTheBitsItHasInAnyCompany) {
  KernelSpec spec = amxSpec();
  spec.bias = spec.addend = spec.residual = true;
  LinearProblem problem(spec, {41, 3, 333}, seed);
  const std::vector<uint32_t> all = bitsOf(runLinear(spec, problem));
  for (int64_t count : {1, 2, 7, 8, 9, 16, 17, 32})
    for (size_t first = 0; first + static_cast<size_t>(count) <= 41; first += 5) {
      const std::vector<uint32_t> some = bitsOf(runSome(spec, problem, first, count));
      for (size_t i = 0; i < some.size(); ++i)
        ASSERT_EQ(some[i], all[first * 48 + i]) << count << " rows from " << first << ", " << i;
    }
}

/// Weight and x of a column, for all outputs and rows.
void setColumn(LinearProblem &problem, size_t column, float weight, float x) {
  const auto bits = static_cast<uint16_t>(std::bit_cast<uint32_t>(weight) >> 16);
  for (size_t output = 0; output < 16; ++output)
    std::memcpy(&problem.weights[column / 2 * 64 + output * 4 + column % 2 * 2], &bits, 2);
  for (std::vector<float> &row : problem.x)
    row[column] = x;
}

/// Two groups leave a total of -0 (half the smallest number, flushed); in the third all products
/// do. Where it is whole, -0 stays; zeros of columns that are not there make it 0.
std::vector<float> sumThatEndsInNegativeZero(const KernelSpec &spec, int64_t rows,
                                             int64_t columns) {
  LinearProblem problem(spec, {rows, 1, columns}, seed);
  for (size_t column = 0; column < static_cast<size_t>(columns); ++column)
    setColumn(problem, column, column < 64 ? 0.0f : -0x1p-70f, 0x1p-63f);
  setColumn(problem, 0, 0x1p-63f, 0x1p-63f);
  setColumn(problem, 32, -0x1.8p-63f, 0x1p-63f);
  return runLinear(spec, problem);
}

TEST_F(AmxBf16LinearKernel, ZerosOfMissingColumnsTakePart) {
  for (int64_t rows : {1, 9})
    for (const KernelSpec &spec : {amxSpec(), fmaSpec(amxSpec())}) {
      for (float sum : sumThatEndsInNegativeZero(spec, rows, 96))
        EXPECT_EQ(std::bit_cast<uint32_t>(sum), 0x80000000u) << kernelSymbol(spec);
      for (float sum : sumThatEndsInNegativeZero(spec, rows, 94))
        EXPECT_EQ(std::bit_cast<uint32_t>(sum), 0u) << kernelSymbol(spec);
    }
}

/// A product in two chains of 32 columns each, not one chain: 2^24 + 1 - 2^24 in the same chain
/// loses the 1, in two chains it stays.
TEST_F(AmxBf16LinearKernel, EvenAndOddColumnsHaveChainsOfTheirOwn) {
  for (int64_t rows : {1, 9})
    for (size_t one : {1u, 2u}) {
      LinearProblem problem(amxSpec(), {rows, 1, 32}, seed);
      for (size_t column = 0; column < 32; ++column)
        setColumn(problem, column, 0, 1);
      setColumn(problem, 0, 0x1p+25f, 1);
      setColumn(problem, one, 1, 1);
      setColumn(problem, 4, -0x1p+25f, 1);
      for (float sum : runLinear(amxSpec(), problem))
        EXPECT_EQ(sum, one == 1 ? 1.0f : 0.0f) << rows << " rows, 1 in column " << one;
    }
}

/// Else all tests of tiles could pass by FMAs alone; and a decode step pays nothing for tiles.
TEST_F(AmxBf16LinearKernel, TilesAreUsedFromTheirFewestRowsOnAndReleased) {
  const bool emulated = !usable().has(Feature::AMXTILE);
  constexpr int64_t fewest = amxtiles::fewestRows;
  LinearProblem few(amxSpec(), {fewest - 1, 2, 64}, seed);
  runLinear(amxSpec(), few);
  EXPECT_EQ(emulation.executed(), 0u);
  LinearProblem enough(amxSpec(), {fewest, 2, 64}, seed);
  runLinear(amxSpec(), enough);
  // configure and release; 2 sums: zero and store; 2 groups: load rows, 2 panels: load, multiply
  EXPECT_EQ(emulation.executed(), emulated ? 2u + 2 * 2 + 2 * (1 + 2 * 2) : 0u);
  EXPECT_FALSE(emulation.isConfigured());
}

/// 32 rows: 4 products for 4 loads, a configuration for all groups of rows of all panels; a last
/// tile of 8 rows has one of its own.
TEST_F(AmxBf16LinearKernel, TwoTilesOfRowsByTwoPanelsShareWhatTheyLoad) {
  if (usable().has(Feature::AMXTILE))
    GTEST_SKIP() << "this machine has amx_tile: nothing is emulated that could be counted";
  const auto executed = [&](int64_t rows) {
    const uint64_t before = emulation.executed();
    LinearProblem problem(amxSpec(), {rows, 4, 320}, seed);
    runLinear(amxSpec(), problem);
    return emulation.executed() - before;
  };
  const uint64_t wholeTiles = 2 * (2 * 4 + 10 * (4 + 4)), oneTile = 2 * (2 * 2 + 10 * (3 + 2));
  EXPECT_EQ(executed(32), 2 + wholeTiles);
  EXPECT_EQ(executed(64), 2 + 2 * wholeTiles);
  EXPECT_EQ(executed(48), 2 + wholeTiles + oneTile);
  EXPECT_EQ(executed(40), 1 + 2 * 2 + wholeTiles + oneTile);
}

} // namespace
} // namespace inf::test
