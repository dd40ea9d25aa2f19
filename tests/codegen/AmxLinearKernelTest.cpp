// Linear kernels on AMX tiles: the bits of every other q8 kernel. Where this machine has no AMX,
// TileEmulation runs the tile instructions.
#include <cmath>
#include <cstring>

#include <immintrin.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/linear/Tiling.h"
#include "tests/codegen/LinearProblem.h"
#include "tests/codegen/PackedWeights.h"
#include "tests/codegen/TileEmulation.h"

namespace inf::test {
namespace {

using testing::ElementsAreArray;

constexpr unsigned seed = 20260301; // fixed: a failure repeats with the same command
constexpr WeightFormat allFormats[] = {WeightFormat::MXFP4, WeightFormat::INT8, WeightFormat::INT4,
                                       WeightFormat::INT4A};
constexpr Activation allActivations[] = {Activation::None, Activation::Swiglu,
                                         Activation::SwigluClamped};

KernelSpec q8Spec(KernelIsa isa, WeightFormat format) {
  KernelSpec spec;
  spec.inputs = InputFormat::Q8, spec.isa = isa, spec.weights = format;
  spec.rows = isa == KernelIsa::Amx ? amxtiles::tileRows : 6;
  return spec;
}

KernelSpec amxSpec(WeightFormat format) { return q8Spec(KernelIsa::Amx, format); }

/// The same kernel by vpdpbusd.
KernelSpec vnniSpec(KernelSpec spec) {
  spec.isa = KernelIsa::Avx512Vnni, spec.rows = 6;
  return spec;
}

bool machineHasTiles() { return machineRuns(KernelIsa::Amx); }

class AmxLinearKernel : public testing::Test {
protected:
  void SetUp() override {
    const FeatureSet emulated =
        FeatureSet{}.with(Feature::AMXTILE).with(Feature::AMXINT8).with(Feature::AMXBF16);
    const FeatureSet usable = detectFeatures(hostCpuid()).usable | emulated;
    FeatureSet needed; // VNNI's too, for the comparison
    for (WeightFormat format : allFormats)
      needed = needed | kernelFeatures(amxSpec(format));
    const FeatureSet missing = usable.missing(needed);
    if (!missing.empty())
      GTEST_SKIP() << "this machine lacks " << missing.toString();
  }

  TileEmulation emulation;
};

void expectVnniBits(const KernelSpec &spec, LinearProblem &problem, const std::string &what = "") {
  const std::vector<uint32_t> expected = bitsOf(runLinear(vnniSpec(spec), problem));
  ASSERT_THAT(bitsOf(runLinear(spec, problem)), ElementsAreArray(expected))
      << traceOf(spec, problem.shape, seed) << " " << what;
}

void expectVnniBits(const KernelSpec &spec, LinearShape shape) {
  LinearProblem problem(spec, shape, seed);
  expectVnniBits(spec, problem);
}

TEST_F(AmxLinearKernel, GivesTheStatedBits) {
  for (WeightFormat format : allFormats)
    for (int64_t rows : {1, 7, 8, 16, 19})
      checkAgainstReferences(amxSpec(format), {rows, 3, 96}, seed);
}

/// One tile and its rest, up to the group of 128 rows and what follows it.
TEST_F(AmxLinearKernel, EveryRowCountGivesTheBitsOfVnni) {
  for (WeightFormat format : allFormats) {
    for (int64_t rows = 1; rows <= 40; ++rows)
      expectVnniBits(amxSpec(format), {rows, 2, 64});
    for (int64_t rows : {63, 64, 65, 80, 129, 136})
      expectVnniBits(amxSpec(format), {rows, 1, 32});
  }
}

TEST_F(AmxLinearKernel, AnyNumberOfPanelsGivesTheBitsOfVnni) {
  for (WeightFormat format : allFormats)
    for (Activation activation : allActivations)
      for (int64_t panels = 1; panels <= 5; ++panels)
        for (int64_t rows : {8, 21, 70}) {
          KernelSpec spec = amxSpec(format);
          spec.activation = activation;
          spec.bias = spec.scale = spec.addend = spec.residual = true;
          expectVnniBits(spec, {rows, panels, 32});
        }
}

/// One row takes eight panels (or four pairs) side by side, what is left one by one.
TEST_F(AmxLinearKernel, OneRowBySeveralPanelsGivesTheStatedBits) {
  for (WeightFormat format : allFormats)
    for (Activation activation : allActivations) {
      KernelSpec spec = amxSpec(format);
      spec.activation = activation;
      for (bool epilogue : {false, true}) {
        spec.bias = spec.scale = spec.addend = spec.residual = epilogue;
        for (int64_t panels : {4, 7, 8, 9, 16, 19})
          for (int64_t rows : {1, 2})
            expectVnniBits(spec, {rows, panels, 96});
        checkAgainstReferences(spec, {1, 9, 64}, seed);
      }
      expectVnniBits(spec, {1, 8, 2880});
    }
}

/// 1 to 16 blocks, two by two and a last one; rows and weights end at inaccessible pages.
TEST_F(AmxLinearKernel, AnyNumberOfColumnsGivesTheBitsOfVnni) {
  for (WeightFormat format : allFormats) {
    for (int64_t blocks = 1; blocks <= 16; ++blocks)
      expectVnniBits(amxSpec(format), {9, 3, 32 * blocks});
    expectVnniBits(amxSpec(format), {17, 2, 352});
    expectVnniBits(amxSpec(format), {18, 2, 2880});
    expectVnniBits(amxSpec(format), {145, 3, 96}); // groups of 128 rows and of 17
    expectVnniBits(amxSpec(format), {128, 3, 160});
  }
}

TEST_F(AmxLinearKernel, EveryEpilogueIsAppliedInTheStatedOrder) {
  for (WeightFormat format : allFormats)
    for (Activation activation : allActivations)
      for (unsigned flags = 0; flags < 16; ++flags) {
        KernelSpec spec = amxSpec(format);
        spec.activation = activation;
        spec.bias = flags & 1, spec.scale = flags & 2;
        spec.addend = flags & 4, spec.residual = flags & 8;
        checkAgainstReferences(spec, {8 + flags % 4, 2, 32}, seed);
      }
}

TEST_F(AmxLinearKernel, ASliceOfPanelsGivesTheBitsOfTheWhole) {
  for (WeightFormat format : allFormats) {
    const KernelSpec spec = amxSpec(format);
    LinearProblem problem(spec, {9, 4, 96}, seed);
    const std::vector<float> whole = runLinear(spec, problem);
    std::vector<float> ignored, slice(9 * 32);
    LinearArgs args = problem.argsInto(ignored);
    args.weights += weightBytes(format, 16 * 96);
    args.panels = 2;
    std::vector<float *> y;
    for (size_t r = 0; r < 9; ++r)
      y.push_back(slice.data() + 32 * r);
    args.y = y.data();
    ExecutableKernel kernel(spec);
    kernel(args);
    for (size_t i = 0; i < slice.size(); ++i)
      EXPECT_EQ(slice[i], whole[i / 32 * 64 + 16 + i % 32]) << kernelSymbol(spec) << " " << i;
  }
}

TEST_F(AmxLinearKernel, ResidualMayBeTheOutputItself) {
  KernelSpec spec = amxSpec(WeightFormat::MXFP4);
  spec.residual = true;
  LinearProblem problem(spec, {67, 3, 64}, seed);
  const std::vector<float> apart = runLinear(spec, problem);
  std::vector<float> inPlace;
  ExecutableKernel kernel(spec);
  kernel(problem.argsInPlace(inPlace));
  EXPECT_THAT(bitsOf(inPlace), ElementsAreArray(bitsOf(apart)));
}

/// Sets every byte of codes, leaving the scales.
void setCodes(LinearProblem &problem, WeightFormat format, uint8_t even, uint8_t odd) {
  const size_t blockBytes = weightBytes(format, 16 * 32);
  for (size_t i = 0; i < problem.weights.size(); ++i)
    if (i % blockBytes < codeBytes(format))
      problem.weights[i] = i % 2 ? odd : even;
}

/// The largest sums of either sign: 32 * 128 * 127 in int8.
TEST_F(AmxLinearKernel, ExtremeCodesGiveTheBitsOfVnni) {
  for (WeightFormat format : allFormats)
    for (uint8_t byte : {0x00, 0xFF, 0x77, 0x7F, 0xF7, 0x80, 0x88, 0x01})
      for (int pattern = 0; pattern < 3; ++pattern) {
        LinearProblem problem(amxSpec(format), {9, 2, 64}, seed);
        setCodes(problem, format, byte, pattern == 2 ? static_cast<uint8_t>(~byte) : byte);
        for (auto &row : problem.codes)
          for (size_t k = 0; k < row.size(); ++k)
            row[k] = static_cast<int8_t>(pattern == 0 || k % 3 == 0 ? 127 : -127);
        expectVnniBits(amxSpec(format), problem, "byte " + std::to_string(byte));
      }
}

TEST_F(AmxLinearKernel, EveryCodeInEveryPlaceOfABlockHasItsValue) {
  for (WeightFormat format : allFormats) {
    LinearProblem problem(amxSpec(format), {32, 1, 32}, seed);
    for (size_t column = 0; column < 32; ++column) { // row r has its only code in column r
      std::fill(problem.codes[column].begin(), problem.codes[column].end(), int8_t{0});
      problem.codes[column][column] = 100;
      problem.codeScales[column][0] = 1;
    }
    for (int code = 0; code < (format == WeightFormat::INT8 ? 256 : 16); ++code) {
      const int both = format == WeightFormat::INT8 ? code : code | code << 4;
      setCodes(problem, format, static_cast<uint8_t>(both), static_cast<uint8_t>(both));
      expectVnniBits(amxSpec(format), problem, "code " + std::to_string(code));
    }
  }
}

/// 0, denormal, the largest; infinite products and what comes of them are bits too.
TEST_F(AmxLinearKernel, ScalesOfAnySizeGiveTheBitsOfVnni) {
  for (WeightFormat format : allFormats)
    for (float inputScale : {0.0f, 0x1p-149f, 0x1.8p-130f, 0x1.fffffep127f, -0.0f, -1e30f}) {
      LinearProblem problem(amxSpec(format), {11, 2, 96}, seed);
      for (auto &scales : problem.codeScales)
        scales[1] = inputScale;
      expectVnniBits(amxSpec(format), problem, "input scale " + std::to_string(inputScale));
    }
}

/// Scales of rows become powers of two, 2^low .. 2^high, some 0; those of weights bytes lowByte ..
/// highByte: what AmxExactProduct.cpp takes, or not.
LinearProblem powersOfTwo(const KernelSpec &spec, LinearShape shape, int low, int high,
                          unsigned lowByte = 110, unsigned highByte = 135) {
  LinearProblem problem(spec, shape, seed);
  std::mt19937 random(seed);
  for (auto &scales : problem.codeScales)
    for (float &scale : scales)
      scale = random() % 16 == 0
                  ? 0.0f
                  : std::ldexp(1.0f, low + static_cast<int>(random() %
                                                            static_cast<unsigned>(high - low + 1)));
  if (spec.weights != WeightFormat::MXFP4)
    return problem;
  const size_t blockBytes = weightBytes(spec.weights, 16 * 32);
  for (size_t i = 0; i < problem.weights.size(); ++i)
    if (i % blockBytes >= codeBytes(spec.weights))
      problem.weights[i] = static_cast<uint8_t>(lowByte + random() % (highByte - lowByte + 1));
  return problem;
}

void expectVnniBitsOfPowers(const KernelSpec &spec, LinearShape shape) {
  LinearProblem problem = powersOfTwo(spec, shape, -20, 3);
  expectVnniBits(spec, problem);
}

TEST_F(AmxLinearKernel, ScalesThatArePowersOfTwoGiveTheBitsOfVnni) {
  const KernelSpec spec = amxSpec(WeightFormat::MXFP4);
  for (int64_t rows = 1; rows <= 50; ++rows)
    expectVnniBitsOfPowers(spec, {rows, 2, 64});
  for (int64_t rows : {63, 65, 80, 81, 127, 128, 129, 143, 145, 161, 170, 256, 259})
    expectVnniBitsOfPowers(spec, {rows, 3, 64});
  // One to three tiles; two and three, four times two: later ones find blocks expanded, or too few.
  for (int64_t rows : {9, 30, 47, 70, 128})
    for (int64_t blocks = 1; blocks <= 17; ++blocks)
      expectVnniBitsOfPowers(spec, {rows, 3, 32 * blocks});
  expectVnniBitsOfPowers(spec, {33, 2, 2880});
}

TEST_F(AmxLinearKernel, ScalesThatArePowersOfTwoWorkWithEveryEpilogue) {
  for (Activation activation : allActivations)
    for (int64_t panels = 1; panels <= 5; ++panels)
      for (int64_t rows : {8, 21, 70}) {
        KernelSpec spec = amxSpec(WeightFormat::MXFP4);
        spec.activation = activation;
        spec.bias = spec.scale = spec.addend = spec.residual = true;
        expectVnniBitsOfPowers(spec, {rows, panels, 288});
      }
}

/// Instructions that only the way by tiles of bf16 needs, as all give the same bits: where tiles
/// are emulated they are counted. Where they are not, MXCSR tells: by int8 tiles sums are rounded
/// in vector registers, by these in tiles, which leave its flags alone.
bool usesTilesOfBf16(const KernelSpec &spec, LinearProblem &problem, const TileEmulation &tiles) {
  std::vector<float> out;
  ExecutableKernel kernel(spec);
  const LinearArgs &args = problem.argsInto(out);
  const uint64_t before = tiles.executed();
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(saved & ~unsigned{_MM_EXCEPT_MASK});
  kernel(args);
  const bool rounded = (_mm_getcsr() & _MM_EXCEPT_INEXACT) != 0;
  _mm_setcsr(saved);
  if (machineHasTiles())
    return !rounded;
  // By int8 a tile of rows, a panel and a block take five: to zero, load rows and weights,
  // multiply, store. By bf16 at most three: a product and, with one tile and panel, two loads.
  const auto [rows, panels, columns] = problem.shape;
  return tiles.executed() - before < static_cast<uint64_t>((rows + 15) / 16 * panels * columns / 8);
}

TEST_F(AmxLinearKernel, OnlyPowersOfTwoGoToTilesOfBf16) {
  const KernelSpec spec = amxSpec(WeightFormat::MXFP4);
  for (int64_t rows : {9, 20, 40, 70}) // one tile, two, three, two and one
    for (int64_t panels : {1, 2, 3}) {
      const LinearShape shape{rows, panels, 2880};
      LinearProblem powers = powersOfTwo(spec, shape, -3, 3), others(spec, shape, seed);
      EXPECT_TRUE(usesTilesOfBf16(spec, powers, emulation)) << rows << " rows, " << panels;
      EXPECT_FALSE(usesTilesOfBf16(spec, others, emulation)) << rows << " rows, " << panels;
    }
}

/// Both ends of what is exact, and a step beyond each: the sums of exponents, the bytes of weights,
/// rows that are denormal. (Byte 0 where the sum is in range: twice 1 would be denormal as a bf16.)
TEST_F(AmxLinearKernel, PowersOfTwoOfAnySizeGiveTheBitsOfVnni) {
  struct Range {
    int low, high;
    unsigned lowByte, highByte;
  };
  for (const Range &range : {Range{-126, -126, 127, 127},
                             {-126, -120, 126, 130},
                             {-127, -127, 127, 127},
                             {-149, -140, 200, 210},
                             {110, 110, 127, 127},
                             {111, 111, 127, 127},
                             {-10, 127, 100, 254},
                             {-14, -14, 251, 251},
                             {-15, -15, 252, 252},
                             {0, 0, 1, 1},
                             {1, 1, 0, 0},
                             {0, 1, 0, 1},
                             {126, 127, 1, 20},
                             {120, 120, 1, 100},
                             {121, 121, 1, 100},
                             {-20, 3, 0, 254},
                             {-3, -1, 248, 254}})
    for (int64_t rows : {9, 40}) {
      LinearProblem problem = powersOfTwo(amxSpec(WeightFormat::MXFP4), {rows, 3, 320}, range.low,
                                          range.high, range.lowByte, range.highByte);
      expectVnniBits(amxSpec(WeightFormat::MXFP4), problem,
                     "2^" + std::to_string(range.low) + " and byte " +
                         std::to_string(range.lowByte));
    }
}

/// One scale of one row, or of one panel, that is not as the others: its rows, or its panel, are
/// multiplied in another way, and nothing is added twice where the residual is the output.
TEST_F(AmxLinearKernel, AScaleThatIsNoPowerOfTwoOrOutOfRangeChangesNoBit) {
  KernelSpec spec = amxSpec(WeightFormat::MXFP4);
  spec.residual = true;
  const LinearShape shape{150, 5, 320};
  const size_t blockBytes = weightBytes(spec.weights, 16 * 32);
  const size_t panelBytes = blockBytes * 10;
  for (int which = 0; which < 8; ++which) {
    LinearProblem problem = powersOfTwo(spec, shape, -20, 3);
    if (which < 3)
      problem.codeScales[which == 0   ? 3
                         : which == 1 ? 140
                                      : 127][which * 4] = which == 2 ? -0.5f : 0.75f;
    else // a panel; at last the second ones of both pairs, or the first pair and the last panel
      for (size_t panel : which < 6    ? std::vector<size_t>{static_cast<size_t>(which - 3) * 2}
                          : which == 6 ? std::vector<size_t>{1, 3}
                                       : std::vector<size_t>{0, 4})
        problem.weights[panelBytes * panel + blockBytes * 9 + codeBytes(spec.weights) + 5] =
            which == 3 ? 0 : 253;
    std::vector<float> tiles, vectors;
    ExecutableKernel amx(spec), vnni(vnniSpec(spec));
    amx(problem.argsInPlace(tiles));
    vnni(problem.argsInPlace(vectors));
    EXPECT_THAT(bitsOf(tiles), ElementsAreArray(bitsOf(vectors))) << "case " << which;
  }
}

TEST_F(AmxLinearKernel, EveryCodeAndScaleOfMxfp4HasItsValueInTilesOfBf16) {
  LinearProblem problem = powersOfTwo(amxSpec(WeightFormat::MXFP4), {32, 1, 32}, 0, 0);
  for (size_t column = 0; column < 32; ++column) { // row r has its only code in column r
    std::fill(problem.codes[column].begin(), problem.codes[column].end(), int8_t{0});
    problem.codes[column][column] = static_cast<int8_t>(column % 2 ? -127 : 127);
    problem.codeScales[column][0] = 1;
  }
  for (int scale = 0; scale < 255; ++scale)
    for (int code = 0; code < 16; code += scale % 8 == 0 ? 1 : 5) {
      setCodes(problem, WeightFormat::MXFP4, static_cast<uint8_t>(code | (15 - code) << 4),
               static_cast<uint8_t>((code ^ 9) | code << 4));
      std::fill(problem.weights.begin() + codeBytes(WeightFormat::MXFP4), problem.weights.end(),
                static_cast<uint8_t>(scale));
      expectVnniBits(amxSpec(WeightFormat::MXFP4), problem,
                     "code " + std::to_string(code) + " scale " + std::to_string(scale));
    }
}

/// Padding of the last panel is bytes of 0 in every format; in int8 that is the code -128.
TEST_F(AmxLinearKernel, PaddingOutputsAreZero) {
  for (WeightFormat format : allFormats) {
    LinearProblem problem(amxSpec(format), {9, 2, 64}, seed);
    const auto half = static_cast<std::ptrdiff_t>(problem.weights.size() / 2);
    std::fill_n(problem.weights.begin() + half, half, uint8_t{0});
    const std::vector<float> out = runLinear(amxSpec(format), problem);
    for (size_t i = 0; i < out.size(); ++i)
      EXPECT_EQ(out[i] == 0, i % 32 >= 16) << traceOf(amxSpec(format), problem.shape, seed);
  }
}

/// Else all tests of tiles could pass by vpdpbusd alone; and a decode step pays nothing for tiles.
TEST_F(AmxLinearKernel, TilesAreUsedFromTheirFewestRowsOnAndReleased) {
  constexpr int64_t fewest = amxtiles::fewestRows;
  LinearProblem few(amxSpec(WeightFormat::INT8), {fewest - 1, 2, 64}, seed);
  runLinear(amxSpec(WeightFormat::INT8), few);
  EXPECT_EQ(emulation.executed(), 0u);
  LinearProblem enough(amxSpec(WeightFormat::INT8), {fewest, 2, 64}, seed);
  runLinear(amxSpec(WeightFormat::INT8), enough);
  // configure and release; 2 panels, 2 blocks: zero, load rows and weights, multiply, store
  EXPECT_EQ(emulation.executed(), machineHasTiles() ? 0u : 2 + 2 * 2 * 5);
  EXPECT_FALSE(emulation.isConfigured());
}

} // namespace
} // namespace inf::test
