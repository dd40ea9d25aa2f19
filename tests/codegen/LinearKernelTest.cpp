#include <array>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/codegen/LinearProblem.h"
#include "tests/codegen/Reference.h"

namespace inf::test {
namespace {

using testing::ElementsAreArray;

constexpr unsigned seed = 20250731; // fixed: a failure repeats with the same command
constexpr WeightFormat allFormats[] = {WeightFormat::F32,   WeightFormat::F16,  WeightFormat::BF16,
                                       WeightFormat::MXFP4, WeightFormat::INT8, WeightFormat::INT4,
                                       WeightFormat::INT4A};
constexpr Activation allActivations[] = {Activation::None, Activation::Swiglu,
                                         Activation::SwigluClamped};

std::vector<int64_t> columnsFor(WeightFormat format) {
  if (isBlockFormat(format))
    return {32, 96, 2880};
  return {1, 2, 33};
}

unsigned widestTile(KernelIsa isa) { return isa == KernelIsa::Avx512 ? 8 : 2; }

KernelSpec linearSpec(KernelIsa isa, WeightFormat format) {
  KernelSpec spec;
  spec.isa = isa;
  spec.weights = format;
  spec.rows = widestTile(isa);
  return spec;
}

class LinearKernel : public testing::TestWithParam<KernelIsa> {
protected:
  void SetUp() override {
    if (!machineRuns(GetParam()))
      GTEST_SKIP() << "this machine lacks " << missingFor(GetParam()).toString();
  }
};

TEST_P(LinearKernel, EveryRowCountGivesTheStatedBitsForEveryFormatAndColumnCount) {
  for (WeightFormat format : allFormats)
    for (int64_t columns : columnsFor(format))
      for (int64_t rows = 1; rows <= 9; ++rows)
        if (columns < 2880 || rows % 4 == 1)
          checkAgainstReferences(linearSpec(GetParam(), format), {rows, 3, columns}, seed);
}

TEST_P(LinearKernel, EveryEpilogueIsAppliedInTheStatedOrder) {
  for (WeightFormat format : {WeightFormat::BF16, WeightFormat::MXFP4, WeightFormat::INT4A})
    for (Activation activation : allActivations)
      for (unsigned flags = 0; flags < 16; ++flags) {
        KernelSpec spec = linearSpec(GetParam(), format);
        spec.activation = activation;
        spec.bias = flags & 1, spec.scale = flags & 2;
        spec.addend = flags & 4, spec.residual = flags & 8;
        checkAgainstReferences(spec, {3, 2, 64}, seed);
      }
}

TEST_P(LinearKernel, ActivationsWorkInTheWidestTileOfEveryFormat) {
  for (WeightFormat format : allFormats)
    for (Activation activation : allActivations) {
      KernelSpec spec = linearSpec(GetParam(), format);
      spec.activation = activation;
      spec.bias = spec.scale = spec.addend = spec.residual = true;
      checkAgainstReferences(spec, {15, 2, 32}, seed);
    }
}

/// Few rows take groups of panels (4 on AVX-512, 2 on AVX2), the rest of the panels one at a time.
TEST_P(LinearKernel, PanelsSideBySideGiveTheStatedBitsWhateverIsLeftOver) {
  for (WeightFormat format : allFormats)
    for (Activation activation : allActivations)
      for (int64_t panels : {1, 2, 3, 4, 5, 8, 9})
        for (int64_t rows : {1, 2, 3}) {
          KernelSpec spec = linearSpec(GetParam(), format);
          spec.activation = activation;
          spec.bias = spec.scale = spec.addend = spec.residual = true;
          checkAgainstReferences(spec, {rows, panels, 96}, seed);
          for (spec.rows = 1; spec.rows < 4 && !whyNotGenerable(spec); spec.rows *= 2)
            checkAgainstReferences(spec, {rows, panels, 32}, seed);
        }
}

TEST_P(LinearKernel, ResidualMayBeTheOutputItself) {
  KernelSpec spec = linearSpec(GetParam(), WeightFormat::F32);
  spec.residual = true;
  const LinearShape shape{5, 3, 33};
  LinearProblem problem(spec, shape, seed);
  const std::vector<float> apart = runLinear(spec, problem);
  std::vector<float> inPlace;
  ExecutableKernel kernel(spec);
  kernel(problem.argsInPlace(inPlace));
  EXPECT_THAT(bitsOf(inPlace), ElementsAreArray(bitsOf(apart)));
}

TEST_P(LinearKernel, ASliceOfPanelsGivesTheBitsOfTheWhole) {
  const KernelSpec spec = linearSpec(GetParam(), WeightFormat::MXFP4);
  LinearProblem problem(spec, {2, 4, 96}, seed);
  const std::vector<float> whole = runLinear(spec, problem);
  std::vector<float> out;
  LinearArgs args = problem.argsInto(out);
  args.weights += 2 * weightBytes(spec.weights, 16 * 96);
  std::vector<float> slice(32);
  std::vector<float *> y = {slice.data(), slice.data() + 16};
  args.y = y.data();
  args.panels = 1;
  ExecutableKernel kernel(spec);
  kernel(args);
  for (size_t r = 0; r < 2; ++r)
    for (size_t n = 0; n < 16; ++n)
      EXPECT_EQ(slice[r * 16 + n], whole[r * 64 + 32 + n]);
}

TEST_P(LinearKernel, EveryMxfp4ScaleIsAnExactPowerOfTwoDenormalsIncluded) {
  const KernelSpec spec = linearSpec(GetParam(), WeightFormat::MXFP4);
  LinearProblem problem(spec, {1, 1, 32}, seed);
  std::fill(problem.weights.begin(), problem.weights.end(), uint8_t{0});
  std::fill(problem.x[0].begin(), problem.x[0].end(), 1.0f);
  for (size_t output = 0; output < 16; ++output)
    problem.weights[output * 4] = 2; // the code of 1, in column 0
  for (int s = 0; s < 255; ++s) {
    std::fill_n(problem.weights.begin() + 256, 16, static_cast<uint8_t>(s));
    const std::vector<float> out = runLinear(spec, problem);
    for (float value : out)
      ASSERT_EQ(value, std::ldexp(1.0f, s - 127)) << "scale byte " << s;
  }
}

TEST_P(LinearKernel, EveryMxfp4CodeInEveryPlaceOfABlockHasItsValue) {
  const KernelSpec spec = linearSpec(GetParam(), WeightFormat::MXFP4);
  for (size_t column = 0; column < 32; ++column) {
    LinearProblem problem(spec, {1, 1, 32}, seed);
    std::fill(problem.x[0].begin(), problem.x[0].end(), 0.0f);
    problem.x[0][column] = 1.0f;
    for (int code = 0; code < 16; ++code) {
      const auto both = static_cast<uint8_t>(code | code << 4);
      std::fill_n(problem.weights.begin(), 256, both);
      std::fill_n(problem.weights.begin() + 256, 16, uint8_t{127});
      constexpr float magnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
      const float expected = code < 8 ? magnitudes[code] : -magnitudes[code - 8];
      for (float value : runLinear(spec, problem))
        ASSERT_EQ(value, expected) << "code " << code << " column " << column;
    }
  }
}

TEST_P(LinearKernel, NanInputReachesTheOutputThroughTheClampedActivation) {
  KernelSpec spec = linearSpec(GetParam(), WeightFormat::F32);
  spec.activation = Activation::SwigluClamped;
  LinearProblem problem(spec, {2, 1, 2}, seed);
  problem.x[1][0] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> out = runLinear(spec, problem);
  for (size_t n = 0; n < 16; ++n) {
    EXPECT_TRUE(std::isfinite(out[n]));
    EXPECT_TRUE(std::isnan(out[16 + n]));
  }
}

TEST_P(LinearKernel, EveryRowTileGivesTheSameBits) {
  for (WeightFormat format : allFormats) {
    KernelSpec spec = linearSpec(GetParam(), format);
    LinearProblem problem(spec, {9, 2, 96}, seed);
    const std::vector<uint32_t> widest = bitsOf(runLinear(spec, problem));
    for (spec.rows /= 2; spec.rows > 0; spec.rows /= 2)
      EXPECT_THAT(bitsOf(runLinear(spec, problem)), ElementsAreArray(widest)) << kernelSymbol(spec);
  }
}

std::string isaOf(const testing::TestParamInfo<KernelIsa> &info) {
  return info.param == KernelIsa::Avx512 ? "Avx512" : "Avx2";
}
INSTANTIATE_TEST_SUITE_P(Isa, LinearKernel, testing::Values(KernelIsa::Avx2, KernelIsa::Avx512),
                         isaOf);

/// Calls kernel(args) with 1..6 in rbx, rbp, r12..r15 and returns what they hold afterwards.
std::array<uint64_t, 6> savedRegistersAfter(const void *kernel, const void *args) {
  std::array<uint64_t, 6> after{};
  void *out = after.data();
  asm volatile("sub $136, %%rsp\n\t" // leave the red zone alone
               "push %%rbp\n\t"
               "push %%rdx\n\t"
               "mov $1, %%rbx\n\tmov $2, %%rbp\n\tmov $3, %%r12\n\t"
               "mov $4, %%r13\n\tmov $5, %%r14\n\tmov $6, %%r15\n\t"
               "call *%%rax\n\t"
               "pop %%rdx\n\t"
               "mov %%rbx, (%%rdx)\n\tmov %%rbp, 8(%%rdx)\n\tmov %%r12, 16(%%rdx)\n\t"
               "mov %%r13, 24(%%rdx)\n\tmov %%r14, 32(%%rdx)\n\tmov %%r15, 40(%%rdx)\n\t"
               "pop %%rbp\n\t"
               "add $136, %%rsp\n\t"
               : "+a"(kernel), "+D"(args), "+d"(out)
               :
               : "rbx", "rcx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc",
                 "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                 "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
  return after;
}

/// All linear kernels of the table in this register family, q8 rows with their tighter budget too.
TEST_P(LinearKernel, CalleeSavedRegistersSurvive) {
  for (const KernelChoice &choice : kernelTable()) {
    if (choice.op != KernelOp::Linear || isWide(choice.isa) != isWide(GetParam()) ||
        !machineRuns(choice.isa))
      continue;
    KernelSpec spec;
    spec.isa = choice.isa, spec.weights = choice.format, spec.inputs = choice.inputs;
    spec.rows = choice.rows, spec.order = choice.order;
    spec.activation = Activation::Swiglu;
    LinearProblem problem(spec, {2 * spec.rows - 1, 2, 64}, seed);
    std::vector<float> out;
    const LinearArgs args = problem.argsInto(out);
    ExecutableKernel kernel(spec);
    EXPECT_THAT(savedRegistersAfter(kernel.entry(), &args), testing::ElementsAre(1, 2, 3, 4, 5, 6))
        << kernelSymbol(spec);
  }
}

TEST(LinearKernels, BothIsasGiveTheSameBits) {
  if (!machineRuns(KernelIsa::Avx512))
    GTEST_SKIP() << "this machine lacks " << missingFor(KernelIsa::Avx512).toString();
  for (WeightFormat format : allFormats) {
    KernelSpec spec = linearSpec(KernelIsa::Avx2, format);
    spec.activation = Activation::SwigluClamped;
    spec.bias = true;
    LinearProblem problem(spec, {7, 2, 352}, seed);
    const std::vector<uint32_t> avx2 = bitsOf(runLinear(spec, problem));
    KernelSpec wide = linearSpec(KernelIsa::Avx512, format);
    wide.activation = spec.activation;
    wide.bias = true;
    EXPECT_THAT(bitsOf(runLinear(wide, problem)), ElementsAreArray(avx2));
  }
}

} // namespace
} // namespace inf::test
