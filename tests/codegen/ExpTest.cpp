#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/Exp.h"
#include "codegen/ExpEmitter.h"
#include "tests/codegen/ExecutableKernel.h"
#include "tests/codegen/LinearProblem.h"
#include "tests/codegen/Reference.h"
#include "tests/codegen/Tolerances.h"

namespace inf::test {
namespace {

struct SixteenFloats {
  float values[16];
};

using Emit = void (*)(LanesEmitter &, const Lanes16 &);

/// A kernel that applies `emit` to 16 floats in place.
KernelCode inPlaceKernel(KernelIsa isa, Emit emit) {
  KernelAssembler assembler(isa, 0, 0);
  const std::unique_ptr<LanesEmitter> lanes = LanesEmitter::create(assembler);
  const Gpr args = assembler.takeArguments();
  const Lanes16 x = lanes->take("x");
  lanes->load(x, LanesEmitter::Address(args));
  emit(*lanes, x);
  lanes->store(LanesEmitter::Address(args), x);
  return assembler.finish("inf_test");
}

std::vector<float> applyKernel(const ExecutableKernel &kernel, std::vector<float> xs) {
  xs.resize((xs.size() + 15) / 16 * 16);
  for (size_t i = 0; i < xs.size(); i += 16) {
    SixteenFloats block;
    std::memcpy(&block, &xs[i], sizeof block);
    kernel(block);
    std::memcpy(&xs[i], &block, sizeof block);
  }
  return xs;
}

/// About a million values, evenly over each sign and exponent, none beyond the clamps.
std::vector<float> allExponents() {
  std::vector<float> xs;
  for (uint32_t bits = 0; bits < 0x7F800000u; bits += 4093)
    for (uint32_t sign : {0u, 0x80000000u}) {
      const float x = std::bit_cast<float>(bits | sign);
      if (x >= exppoly::minInput && x <= exppoly::maxInput)
        xs.push_back(x);
    }
  // Linear steps too: most of the numbers above are tiny, where exp is 1.
  for (double x = exppoly::minInput; x <= exppoly::maxInput; x += 0x1p-12)
    xs.push_back(static_cast<float>(x));
  return xs;
}

double ulpsOff(float value, double exact) {
  const int exponent = std::ilogb(exact);
  return std::abs(value - exact) / std::ldexp(1.0, exponent - 23);
}

TEST(Exp, ErrorOverAllExponentsStaysWithinTheStatedUlps) {
  const std::vector<float> xs = allExponents();
  for (KernelIsa isa : runnableIsas()) {
    ExecutableKernel kernel(inPlaceKernel(isa, emitExp));
    const std::vector<float> ys = applyKernel(kernel, xs);
    double worst = 0;
    float at = 0;
    for (size_t i = 0; i < xs.size(); ++i) {
      const double ulps = ulpsOff(ys[i], std::exp(static_cast<double>(xs[i])));
      if (ulps > worst)
        worst = ulps, at = xs[i];
    }
    EXPECT_LE(worst, expUlps) << "at " << at;
    RecordProperty(isa == KernelIsa::Avx512 ? "avx512_milliulps" : "avx2_milliulps",
                   static_cast<int>(worst * 1000));
  }
}

TEST(Exp, KernelsComputeExactlyTheStatedOperations) {
  const std::vector<float> xs = allExponents();
  for (KernelIsa isa : runnableIsas()) {
    ExecutableKernel kernel(inPlaceKernel(isa, emitExp));
    const std::vector<float> ys = applyKernel(kernel, xs);
    for (size_t i = 0; i < xs.size(); ++i)
      ASSERT_EQ(std::bit_cast<uint32_t>(ys[i]), std::bit_cast<uint32_t>(orderedExp(xs[i])))
          << "x " << xs[i];
  }
}

TEST(Exp, InputsBeyondTheRangeClampAndNanStays) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float largest = orderedExp(exppoly::maxInput);
  for (KernelIsa isa : runnableIsas()) {
    ExecutableKernel kernel(inPlaceKernel(isa, emitExp));
    const std::vector<float> ys = applyKernel(
        kernel, {-infinity, -1e30f, -87.5f, 0.0f, -0.0f, 88.5f, 1e30f, infinity, std::nanf("")});
    EXPECT_EQ(ys[0], 0.0f);
    EXPECT_EQ(ys[1], 0.0f);
    EXPECT_EQ(ys[2], 0.0f);
    EXPECT_EQ(ys[3], 1.0f);
    EXPECT_EQ(ys[4], 1.0f);
    EXPECT_EQ(ys[5], largest);
    EXPECT_EQ(ys[6], largest);
    EXPECT_EQ(ys[7], largest);
    EXPECT_TRUE(std::isnan(ys[8]));
  }
}

TEST(Exp, SmallestNormalInputGivesANormalNumber) {
  EXPECT_GE(orderedExp(exppoly::minInput), std::numeric_limits<float>::min());
}

TEST(Sigmoid, IsWithinAFewRoundoffsWhereExpDoesNotClamp) {
  const std::vector<float> xs = allExponents();
  for (KernelIsa isa : runnableIsas()) {
    ExecutableKernel kernel(inPlaceKernel(isa, emitSigmoid));
    const std::vector<float> ys = applyKernel(kernel, xs);
    for (size_t i = 0; i < xs.size(); ++i) {
      const double exact = 1 / (1 + std::exp(-static_cast<double>(xs[i])));
      ASSERT_NEAR(ys[i], exact, activationRelative * exact) << "x " << xs[i];
    }
  }
}

} // namespace
} // namespace inf::test
