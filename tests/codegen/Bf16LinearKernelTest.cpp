// Linear kernels for bf16 rows: vdpbf16ps, and what gives its bits elsewhere; tdpbf16ps, emulated
// where this machine has no AMX, and FMAs in its order.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/codegen/LinearProblem.h"
#include "tests/codegen/Reference.h"
#include "tests/codegen/TileEmulation.h"

namespace inf::test {
namespace {

using testing::ElementsAreArray;

constexpr unsigned seed = 20261128; // fixed: a failure repeats with the same command
constexpr Activation allActivations[] = {Activation::None, Activation::Swiglu,
                                         Activation::SwigluClamped};

struct Kind {
  KernelIsa isa;
  Bf16Order order;
};
constexpr Kind allKinds[] = {{KernelIsa::Avx2, Bf16Order::Pairs},
                             {KernelIsa::Avx512, Bf16Order::Pairs},
                             {KernelIsa::Avx512Bf16, Bf16Order::Pairs},
                             {KernelIsa::Avx512, Bf16Order::Groups},
                             {KernelIsa::Amx, Bf16Order::Groups}};

/// With the widest row tile there is.
KernelSpec bf16Spec(Kind kind) {
  KernelSpec spec;
  spec.inputs = InputFormat::BF16, spec.weights = WeightFormat::BF16;
  spec.isa = kind.isa, spec.order = kind.order, spec.rows = 16;
  while (whyNotGenerable(spec))
    --spec.rows;
  return spec;
}

/// What neither this machine nor the emulation of tiles has.
FeatureSet missingOf(Kind kind) {
  const FeatureSet tiles = FeatureSet{}.with(Feature::AMXTILE).with(Feature::AMXBF16);
  return (detectFeatures(hostCpuid()).usable | tiles).missing(kernelFeatures(bf16Spec(kind)));
}

KernelSpec withEverything(KernelSpec spec, Activation activation) {
  spec.activation = activation;
  spec.bias = spec.scale = spec.addend = spec.residual = true;
  return spec;
}

class Bf16LinearKernel : public testing::TestWithParam<Kind> {
protected:
  void SetUp() override {
    if (!missingOf(GetParam()).empty())
      GTEST_SKIP() << "this machine lacks " << missingOf(GetParam()).toString();
  }

  KernelSpec spec() const { return bf16Spec(GetParam()); }

  TileEmulation emulation;
};

TEST_P(Bf16LinearKernel, EveryRowCountGivesTheStatedBitsForEvenAndOddColumns) {
  for (int64_t columns : {1, 2, 3, 16, 33, 96})
    for (int64_t rows = 1; rows <= 19; ++rows)
      checkAgainstReferences(spec(), {rows, 3, columns}, seed);
  for (int64_t rows : {64, 127, 300})
    checkAgainstReferences(spec(), {rows, 2, 31}, seed);
}

TEST_P(Bf16LinearKernel, LongRowsGiveTheStatedBits) {
  for (int64_t columns : {2879, 2880})
    for (int64_t rows : {1, 4, 7, 9})
      checkAgainstReferences(spec(), {rows, 3, columns}, seed);
}

/// Panels go two at a time on AVX-512; the last one may be left over.
TEST_P(Bf16LinearKernel, AnyNumberOfPanelsGivesTheStatedBits) {
  for (Activation activation : allActivations)
    for (int64_t panels = 1; panels <= 5; ++panels)
      for (int64_t rows : {1, 2, 4, 5, 6, 9, 17})
        for (int64_t columns : {63, 64})
          checkAgainstReferences(withEverything(spec(), activation), {rows, panels, columns}, seed);
}

TEST_P(Bf16LinearKernel, EveryEpilogueIsAppliedInTheStatedOrder) {
  for (Activation activation : allActivations)
    for (unsigned flags = 0; flags < 16; ++flags) {
      KernelSpec each = spec();
      each.activation = activation;
      each.bias = flags & 1, each.scale = flags & 2;
      each.addend = flags & 4, each.residual = flags & 8;
      checkAgainstReferences(each, {(flags & 8 ? 8 : 3) + flags % 4, 2, 32}, seed);
    }
}

TEST_P(Bf16LinearKernel, EveryRowTileGivesTheSameBits) {
  KernelSpec each = spec();
  LinearProblem problem(each, {13, 3, 95}, seed);
  const std::vector<uint32_t> widest = bitsOf(runLinear(each, problem));
  for (--each.rows; each.rows > 0 && !whyNotGenerable(each); --each.rows)
    EXPECT_THAT(bitsOf(runLinear(each, problem)), ElementsAreArray(widest)) << kernelSymbol(each);
}

TEST_P(Bf16LinearKernel, ASliceOfPanelsGivesTheBitsOfTheWhole) {
  LinearProblem problem(spec(), {9, 4, 95}, seed);
  const std::vector<float> whole = runLinear(spec(), problem);
  std::vector<float> ignored, slice(9 * 16);
  LinearArgs args = problem.argsInto(ignored);
  args.weights += 48 * 64; // a panel of 95 columns
  args.panels = 1;
  std::vector<float *> y;
  for (size_t r = 0; r < 9; ++r)
    y.push_back(slice.data() + 16 * r);
  args.y = y.data();
  ExecutableKernel kernel(spec());
  kernel(args);
  for (size_t i = 0; i < slice.size(); ++i)
    EXPECT_EQ(slice[i], whole[i / 16 * 64 + 16 + i % 16]) << i;
}

TEST_P(Bf16LinearKernel, ResidualMayBeTheOutputItself) {
  KernelSpec each = spec();
  each.residual = true;
  LinearProblem problem(each, {8, 3, 64}, seed);
  const std::vector<float> apart = runLinear(each, problem);
  std::vector<float> inPlace;
  ExecutableKernel kernel(each);
  kernel(problem.argsInPlace(inPlace));
  EXPECT_THAT(bitsOf(inPlace), ElementsAreArray(bitsOf(apart)));
}

/// A bf16 of any bits whose exponent field is in a range.
uint16_t bf16Of(std::mt19937 &random, unsigned lowest, unsigned highest) {
  const unsigned exponent = lowest + static_cast<unsigned>(random()) % (highest - lowest + 1);
  return static_cast<uint16_t>((random() & 0x807F) | exponent << 7);
}

void fill(LinearProblem &problem, std::mt19937 &random, unsigned lowest, unsigned highest) {
  for (size_t i = 0; i < problem.weights.size(); i += 2) {
    const uint16_t bits = bf16Of(random, lowest, highest);
    std::memcpy(&problem.weights[i], &bits, 2);
  }
  for (std::vector<float> &row : problem.x)
    for (float &value : row)
      value = std::bit_cast<float>(uint32_t{bf16Of(random, lowest, highest)} << 16);
}

/// Exponents: denormal operands; products and sums at the edge of the denormals; ones that
/// overflow; all of them at once.
TEST_P(Bf16LinearKernel, NumbersOfEverySizeGiveTheStatedBitsDenormalsBeingZero) {
  constexpr struct {
    unsigned lowest, highest;
  } ranges[] = {{0, 1}, {0, 2}, {50, 66}, {60, 64}, {62, 66}, {190, 254}, {0, 254}};
  for (const auto &range : ranges)
    for (unsigned turn = 0; turn < 50; ++turn) {
      LinearProblem problem(spec(), {turn % 2 ? 7 : 9, 3, turn % 3 ? 8 : 73}, seed);
      std::mt19937 random(seed + turn);
      fill(problem, random, range.lowest, range.highest);
      const std::vector<float> out = runLinear(spec(), problem);
      const std::vector<float> ordered = orderedOutputs(spec(), problem);
      for (size_t i = 0; i < out.size(); ++i) {
        if (std::isnan(ordered[i]))
          ASSERT_TRUE(std::isnan(out[i])) << "seed " << seed + turn;
        else
          ASSERT_EQ(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(ordered[i]))
              << "exponents from " << range.lowest << ", output " << i << ", seed " << seed + turn;
      }
    }
}

/// Sums flush, what follows does not: MXCSR is the step's again.
TEST_P(Bf16LinearKernel, DenormalsOfTheEpilogueAreKept) {
  KernelSpec each = spec();
  each.residual = true;
  LinearProblem problem(each, {9, 1, 2}, seed);
  std::fill(problem.weights.begin(), problem.weights.end(), uint8_t{0});
  std::vector<float> out;
  const LinearArgs &args = problem.argsInto(out);
  std::vector<float> denormals(16, 0x1p-140f);
  const std::vector<const float *> residual(9, denormals.data());
  LinearArgs changed = args;
  changed.residual = residual.data();
  ExecutableKernel kernel(each);
  kernel(changed);
  EXPECT_THAT(out, testing::Each(0x1p-140f));
}

TEST_P(Bf16LinearKernel, ANanInputReachesItsRowAlone) {
  LinearProblem problem(spec(), {19, 2, 33}, seed);
  problem.x[3][32] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> out = runLinear(spec(), problem);
  for (size_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(std::isnan(out[i]), i / 32 == 3) << i;
}

/// Signed by the weights of its column; with another one of the other sign NaN.
TEST_P(Bf16LinearKernel, AnInfiniteInputReachesItsRowAloneWithTheStatedSign) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  LinearProblem problem(spec(), {19, 2, 41}, seed);
  problem.x[3][40] = infinity;
  problem.x[17][5] = -infinity, problem.x[17][38] = infinity;
  const std::vector<float> out = runLinear(spec(), problem);
  const std::vector<float> ordered = orderedOutputs(spec(), problem);
  unsigned nans = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(std::isfinite(out[i]), i / 32 != 3 && i / 32 != 17) << i;
    EXPECT_TRUE(out[i] == ordered[i] || (std::isnan(out[i]) && std::isnan(ordered[i]))) << i;
    nans += std::isnan(out[i]);
  }
  EXPECT_GT(nans, 0u);
  EXPECT_LT(nans, 32u);
}

std::string nameOf(const testing::TestParamInfo<Kind> &info) {
  return std::string(kernelIsaName(info.param.isa)) +
         (info.param.order == Bf16Order::Groups ? "by32" : "");
}
INSTANTIATE_TEST_SUITE_P(Kinds, Bf16LinearKernel, testing::ValuesIn(allKinds), nameOf);

TEST(Bf16LinearKernels, AllThatSumInOneOrderGiveTheSameBits) {
  const TileEmulation emulation;
  std::map<Bf16Order, std::vector<uint32_t>> found;
  for (const Kind &kind : allKinds) {
    if (!missingOf(kind).empty())
      continue;
    const KernelSpec spec = withEverything(bf16Spec(kind), Activation::SwigluClamped);
    LinearProblem problem(spec, {11, 3, 353}, seed);
    const std::vector<uint32_t> bits = bitsOf(runLinear(spec, problem));
    const auto [first, isFirst] = found.try_emplace(kind.order, bits);
    EXPECT_THAT(bits, ElementsAreArray(first->second)) << kernelSymbol(spec);
  }
  if (found.size() == 2) {
    EXPECT_NE(found[Bf16Order::Pairs], found[Bf16Order::Groups]) << "one order is enough";
  }
}

} // namespace
} // namespace inf::test
