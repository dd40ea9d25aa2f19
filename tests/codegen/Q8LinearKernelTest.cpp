// Linear kernels for q8 rows: integer dot products, on every isa.
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/codegen/LinearProblem.h"
#include "tests/codegen/PackedWeights.h"
#include "tests/codegen/Reference.h"
#include "tests/codegen/VnniEmulation.h"

namespace inf::test {
namespace {

using testing::ElementsAreArray;

constexpr unsigned seed = 20260114; // fixed: a failure repeats with the same command
constexpr KernelIsa allIsas[] = {KernelIsa::Avx2, KernelIsa::AvxVnni, KernelIsa::Avx512,
                                 KernelIsa::Avx512Vnni, KernelIsa::Avx512Vbmi};
constexpr Activation allActivations[] = {Activation::None, Activation::Swiglu,
                                         Activation::SwigluClamped};

std::vector<WeightFormat> formatsOf(KernelIsa isa) {
  if (isa == KernelIsa::Avx512Vbmi) // the others have no use for vpermb
    return {WeightFormat::MXFP4};
  return {WeightFormat::MXFP4, WeightFormat::INT8, WeightFormat::INT4, WeightFormat::INT4A};
}

/// With the widest row tile the table gives.
KernelSpec q8Spec(KernelIsa isa, WeightFormat format) {
  KernelSpec spec;
  spec.inputs = InputFormat::Q8, spec.isa = isa, spec.weights = format;
  for (const KernelChoice &choice : kernelTable())
    if (choice.isa == isa && choice.format == format && choice.inputs == InputFormat::Q8)
      spec.rows = choice.rows;
  return spec;
}

bool runsOrIsEmulated(KernelIsa isa) {
  return machineRuns(isa) || missingFor(isa) == FeatureSet{}.with(Feature::AVXVNNI);
}

class Q8LinearKernel : public testing::TestWithParam<KernelIsa> {
protected:
  void SetUp() override {
    if (!runsOrIsEmulated(GetParam()))
      GTEST_SKIP() << "this machine lacks " << missingFor(GetParam()).toString();
  }

  std::vector<WeightFormat> formats() const { return formatsOf(GetParam()); }
  KernelSpec spec(WeightFormat format) const { return q8Spec(GetParam(), format); }

private:
  VnniEmulation emulation;
};

TEST_P(Q8LinearKernel, EveryRowCountGivesTheStatedBits) {
  for (WeightFormat format : formats()) {
    for (int64_t rows = 1; rows <= 17; ++rows)
      checkAgainstReferences(spec(format), {rows, 3, 96}, seed);
    checkAgainstReferences(spec(format), {64, 2, 32}, seed);
  }
}

TEST_P(Q8LinearKernel, LongRowsGiveTheStatedBits) {
  for (WeightFormat format : formats())
    for (int64_t rows : {1, 4, 7})
      checkAgainstReferences(spec(format), {rows, 3, 2880}, seed);
}

/// Many rows take panels two at a time on AVX-512; the last one may be left over.
TEST_P(Q8LinearKernel, AnyNumberOfPanelsGivesTheStatedBits) {
  for (WeightFormat format : formats())
    for (Activation activation : allActivations)
      for (int64_t panels = 1; panels <= 5; ++panels)
        for (int64_t rows : {1, 2, 4, 5, 6, 9}) {
          KernelSpec each = spec(format);
          each.activation = activation;
          each.bias = each.scale = each.addend = each.residual = true;
          checkAgainstReferences(each, {rows, panels, 64}, seed);
        }
}

TEST_P(Q8LinearKernel, EveryEpilogueIsAppliedInTheStatedOrder) {
  for (WeightFormat format : formats())
    for (Activation activation : allActivations)
      for (unsigned flags = 0; flags < 16; ++flags) {
        KernelSpec each = spec(format);
        each.activation = activation;
        each.bias = flags & 1, each.scale = flags & 2;
        each.addend = flags & 4, each.residual = flags & 8;
        checkAgainstReferences(each, {3 + flags % 4, 2, 32}, seed);
      }
}

TEST_P(Q8LinearKernel, EveryRowTileGivesTheSameBits) {
  for (WeightFormat format : formats()) {
    KernelSpec each = spec(format);
    LinearProblem problem(each, {13, 3, 96}, seed);
    const std::vector<uint32_t> widest = bitsOf(runLinear(each, problem));
    for (--each.rows; each.rows > 0; --each.rows)
      EXPECT_THAT(bitsOf(runLinear(each, problem)), ElementsAreArray(widest)) << kernelSymbol(each);
  }
}

TEST_P(Q8LinearKernel, ASliceOfPanelsGivesTheBitsOfTheWhole) {
  for (WeightFormat format : formats()) {
    const KernelSpec each = spec(format);
    LinearProblem problem(each, {7, 4, 96}, seed);
    const std::vector<float> whole = runLinear(each, problem);
    std::vector<float> ignored, slice(7 * 16);
    LinearArgs args = problem.argsInto(ignored);
    args.weights += weightBytes(format, 16 * 96);
    args.panels = 1;
    std::vector<float *> y;
    for (size_t r = 0; r < 7; ++r)
      y.push_back(slice.data() + 16 * r);
    args.y = y.data();
    ExecutableKernel kernel(each);
    kernel(args);
    for (size_t i = 0; i < slice.size(); ++i)
      EXPECT_EQ(slice[i], whole[i / 16 * 64 + 16 + i % 16]) << kernelSymbol(each) << " " << i;
  }
}

TEST_P(Q8LinearKernel, ResidualMayBeTheOutputItself) {
  KernelSpec each = spec(WeightFormat::MXFP4);
  each.residual = true;
  LinearProblem problem(each, {8, 3, 64}, seed);
  const std::vector<float> apart = runLinear(each, problem);
  std::vector<float> inPlace;
  ExecutableKernel kernel(each);
  kernel(problem.argsInPlace(inPlace));
  EXPECT_THAT(bitsOf(inPlace), ElementsAreArray(bitsOf(apart)));
}

/// Sets every byte of codes, leaving the scales.
void setCodes(LinearProblem &problem, WeightFormat format,
              const std::function<uint8_t(size_t)> &byteAt) {
  const size_t blockBytes = weightBytes(format, 16 * 32);
  for (size_t i = 0; i < problem.weights.size(); ++i)
    if (i % blockBytes < codeBytes(format))
      problem.weights[i] = byteAt(i);
}

void expectReferenceBits(const KernelSpec &spec, LinearProblem &problem, const std::string &what) {
  const std::vector<float> out = runLinear(spec, problem);
  ASSERT_THAT(bitsOf(out), ElementsAreArray(bitsOf(orderedOutputs(spec, problem))))
      << traceOf(spec, problem.shape, seed) << " " << what;
}

/// Padding of the last panel is bytes of 0 in every format; in int8 that is the code -128.
TEST_P(Q8LinearKernel, PaddingOutputsAreZero) {
  for (WeightFormat format : formats())
    for (int64_t rows : {1, 7}) {
      LinearProblem problem(spec(format), {rows, 3, 64}, seed);
      const auto panelBytes = static_cast<std::ptrdiff_t>(problem.weights.size() / 3);
      std::fill_n(problem.weights.begin() + 2 * panelBytes, panelBytes, uint8_t{0});
      const std::vector<float> out = runLinear(spec(format), problem);
      for (size_t i = 0; i < out.size(); ++i)
        EXPECT_EQ(out[i] == 0, i % 48 >= 32) << kernelSymbol(spec(format)) << " output " << i;
    }
}

/// The codes that overflow 16 bits first, and pairs of them that cancel.
TEST_P(Q8LinearKernel, ExtremeCodesDoNotSaturate) {
  const std::vector<uint8_t> mxfp4 = {0x77, 0xFF, 0x7F, 0xF7}; // 6, -6
  const std::vector<uint8_t> others = {0x00, 0xFF, 0x0F, 0xF0, 0x01, 0x80, 0x7F};
  for (WeightFormat format : formats())
    for (uint8_t byte : format == WeightFormat::MXFP4 ? mxfp4 : others)
      for (int pattern = 0; pattern < 4; ++pattern) {
        LinearProblem problem(spec(format), {7, 2, 64}, seed);
        setCodes(problem, format, [&](size_t i) {
          return pattern < 2 || i % 2 ? byte : static_cast<uint8_t>(~byte);
        });
        for (auto &row : problem.codes)
          for (size_t k = 0; k < row.size(); ++k)
            row[k] = static_cast<int8_t>(pattern % 2 == 0 || k % 3 == 0 ? 127 : -127);
        expectReferenceBits(spec(format), problem,
                            "byte " + std::to_string(byte) + " pattern " + std::to_string(pattern));
        for (auto &row : problem.codes)
          std::fill(row.begin(), row.end(), int8_t{-127});
        expectReferenceBits(spec(format), problem, "byte " + std::to_string(byte) + " all -127");
      }
}

TEST_P(Q8LinearKernel, EveryCodeInEveryPlaceOfABlockHasItsValue) {
  for (WeightFormat format : formats()) {
    const KernelSpec each = spec(format);
    LinearProblem problem(each, {1, 1, 32}, seed);
    problem.codeScales[0][0] = 1;
    for (size_t column = 0; column < 32; ++column) {
      std::fill(problem.codes[0].begin(), problem.codes[0].end(), int8_t{0});
      problem.codes[0][column] = 100;
      for (int code = 0; code < (format == WeightFormat::INT8 ? 256 : 16); code += 1) {
        const int both = format == WeightFormat::INT8 ? code : code | code << 4;
        setCodes(problem, format, [&](size_t) { return static_cast<uint8_t>(both); });
        expectReferenceBits(each, problem, "code " + std::to_string(code));
      }
    }
  }
}

/// 0, denormal, ordinary, the largest; infinite products and what comes of them are bits too.
TEST_P(Q8LinearKernel, ScalesOfAnySizeGiveTheStatedBits) {
  constexpr float inputScales[] = {0, 0x1p-149f,       0x1.8p-130f, 1e-3f,
                                   1, 0x1.fffffep127f, -0.0f,       -1e30f};
  constexpr uint16_t halves[] = {0, 1, 0x03FF, 0x0400, 0x3C00, 0x7BFF, 0x8000, 0xFBFF, 0x8001};
  for (WeightFormat format : formats()) {
    const KernelSpec each = spec(format);
    const size_t blockBytes = weightBytes(format, 16 * 32);
    for (float inputScale : inputScales) {
      LinearProblem problem(each, {5, 2, 64}, seed);
      for (auto &scales : problem.codeScales)
        scales[1] = inputScale;
      std::mt19937 random(seed);
      for (size_t i = 0; i < problem.weights.size(); i += 2)
        if (i % blockBytes >= codeBytes(format) && format != WeightFormat::MXFP4) {
          const uint16_t half = halves[random() % std::size(halves)];
          std::memcpy(&problem.weights[i], &half, 2);
        }
      expectReferenceBits(each, problem, "input scale " + std::to_string(inputScale));
    }
  }
}

TEST_P(Q8LinearKernel, EveryMxfp4ScaleByteGivesTheStatedBits) {
  const KernelSpec each = spec(WeightFormat::MXFP4);
  for (int first = 0; first < 255; first += 16)
    for (float inputScale : {1e-3f, 0x1p-120f, 0x1p100f}) {
      LinearProblem problem(each, {2, 1, 32}, seed);
      problem.codeScales[0][0] = problem.codeScales[1][0] = inputScale;
      for (int n = 0; n < 16; ++n)
        problem.weights[256 + static_cast<size_t>(n)] =
            static_cast<uint8_t>(std::min(first + n, 254));
      expectReferenceBits(each, problem, "scale bytes from " + std::to_string(first));
    }
}

/// Nothing is between the codes and the blocks of a row when the columns fill whole lines, 32 bytes
/// of padding when they don't: a kernel that looks for blocks in the wrong place reads that.
TEST_P(Q8LinearKernel, BlocksAreFoundBehindThePaddingOfTheCodes) {
  for (WeightFormat format : formats())
    for (int64_t columns : {32, 64, 96, 128, 160})
      checkAgainstReferences(spec(format), {2, 1, columns}, seed);
}

std::string isaOf(const testing::TestParamInfo<KernelIsa> &info) {
  return std::string(kernelIsaName(info.param));
}
INSTANTIATE_TEST_SUITE_P(Isa, Q8LinearKernel, testing::ValuesIn(allIsas), isaOf);

/// Many rows: kernels that scale without w * a where that is exact (codegen/linear/ExactScales.h).
/// One scale of the weights and one of the rows, somewhere, decide: exponents on both sides of each
/// bound, and what is no ordinary number.
class ExactlyScaled : public testing::TestWithParam<KernelIsa> {
protected:
  static constexpr int64_t rows = 13, blocks = 11, panels = 5;

  void SetUp() override {
    if (!machineRuns(GetParam()))
      GTEST_SKIP() << "this machine lacks " << missingFor(GetParam()).toString();
  }

  /// With both in one product, all others such that their products with these are ordinary.
  void check(int byte, float inputScale, bool zeros = false) {
    const KernelSpec spec = q8Spec(GetParam(), WeightFormat::MXFP4);
    LinearProblem problem(spec, {rows, panels, blocks * 32}, seed);
    const int rowShift = byte > 190 ? -60 : byte < 64 ? 60 : 0;
    const int weightShift = inputScale > 0x1p60f ? -60 : std::fabs(inputScale) < 0x1p-60f ? 60 : 0;
    for (auto &scales : problem.codeScales)
      for (float &scale : scales)
        scale = std::ldexp(scale, rowShift);
    for (size_t block = 0; block < panels * blocks; ++block)
      for (size_t n = 0; n < 16; ++n)
        scaleOf(problem, block, n) = uint8_t(scaleOf(problem, block, n) + weightShift);
    const size_t block = random() % blocks;
    std::vector<float> &row = problem.codeScales[random() % rows];
    std::fill(row.begin(), row.end(), 0.f); // nothing hides the last bits of the product
    row[block] = inputScale;
    if (zeros) // 0 times what overflows is NaN
      for (auto &codes : problem.codes)
        std::fill(codes.begin(), codes.end(), int8_t{0});
    scaleOf(problem, random() % panels * blocks + block, random() % 16) = uint8_t(byte);
    expectReferenceBits(spec, problem, fmt::format("byte {} input scale {:a}", byte, inputScale));
  }

private:
  static uint8_t &scaleOf(LinearProblem &problem, size_t block, size_t output) {
    return problem.weights[block * weightBytes(WeightFormat::MXFP4, 16 * 32) +
                           codeBytes(WeightFormat::MXFP4) + output];
  }

  std::mt19937 random{seed};
};

TEST_P(ExactlyScaled, OneScaleOutOfRangeIsEnough) {
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (int byte : {0, 1, 2, 3, 64, 127, 190, 230, 231, 232, 253, 254})
      check(byte, 1.5f);
    for (int exponent : {-149, -127, -126, -125, -64, 0, 64, 126, 127})
      check(127, std::ldexp(1.5f, exponent));
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (float strange : {0.f, -0.f, -1.f, infinity, -infinity, 0x1p-149f, -0x1p-149f})
      check(127, strange);
  }
}

/// The exponents of products around 1 and around 254.
TEST_P(ExactlyScaled, ProductsAtTheEndsOfTheRange) {
  for (int byte = 20; byte <= 231; byte += 30)
    for (int sum : {-2, -1, 0, 1, 2, 3, 252, 253, 254, 255, 256})
      if (const int field = sum + 127 - byte; field >= 1 && field <= 254)
        for (float fraction : {1.f, 0x1.fffffep0f})
          for (int repeat = 0; repeat < 3; ++repeat)
            check(byte, std::ldexp(fraction, field - 127), repeat == 2);
}

INSTANTIATE_TEST_SUITE_P(Isa, ExactlyScaled,
                         testing::Values(KernelIsa::Avx512Vnni, KernelIsa::Avx512Vbmi), isaOf);

TEST(Q8LinearKernels, AllIsasGiveTheSameBits) {
  const VnniEmulation emulation;
  for (WeightFormat format : formatsOf(KernelIsa::Avx2)) {
    KernelSpec first = q8Spec(KernelIsa::Avx2, format);
    first.activation = Activation::SwigluClamped;
    LinearProblem problem(first, {11, 3, 352}, seed);
    const std::vector<uint32_t> expected = bitsOf(runLinear(first, problem));
    for (KernelIsa isa : allIsas) {
      KernelSpec other = q8Spec(isa, format);
      other.activation = first.activation;
      if (whyNotGenerable(other) || !runsOrIsEmulated(isa))
        continue;
      EXPECT_THAT(bitsOf(runLinear(other, problem)), ElementsAreArray(expected))
          << kernelSymbol(other);
    }
  }
}

} // namespace
} // namespace inf::test
