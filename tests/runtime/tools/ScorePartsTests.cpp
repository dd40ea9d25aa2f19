// The arithmetic of infrun score, apart from any model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include <nlohmann/json.hpp>

#include "runtime/session/LogLikelihood.h"
#include "runtime/tools/score/Score.h"
#include "tests/runtime/session/FakeModel.h"

using namespace inf;
using namespace inf::test;
using testing::HasSubstr;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// KL(reference || model) from the definition, in long double.
long double definedDivergence(const std::vector<float> &model,
                              const std::vector<float> &reference) {
  long double modelSum = 0, referenceSum = 0, divergence = 0;
  for (size_t i = 0; i < model.size(); ++i) {
    modelSum += std::exp(static_cast<long double>(model[i]));
    referenceSum += std::exp(static_cast<long double>(reference[i]));
  }
  for (size_t i = 0; i < model.size(); ++i) {
    const long double p = std::exp(static_cast<long double>(reference[i])) / referenceSum;
    const long double q = std::exp(static_cast<long double>(model[i])) / modelSum;
    divergence += p * std::log(p / q);
  }
  return divergence;
}

} // namespace

TEST(Divergence, isThatOfTheDefinition) {
  const unsigned seed = 20260;
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 4);
  for (int round = 0; round < 200; ++round) {
    std::vector<float> model(50), reference(50);
    for (size_t i = 0; i < model.size(); ++i) {
      reference[i] = normal(random);
      model[i] = round % 2 ? normal(random) : reference[i] + normal(random) / 100;
    }
    const TokenComparison token = compareLogits(model, reference, 7);
    EXPECT_NEAR(token.divergence, double(definedDivergence(model, reference)), 1e-12)
        << "seed " << seed << " round " << round;
    EXPECT_EQ(token.modelNll, negativeLogLikelihood(model, 7));
    EXPECT_EQ(token.referenceNll, negativeLogLikelihood(reference, 7));
  }
}

TEST(Divergence, ofHalvesAgainstQuartersIsTheLogarithmThatOneCanDoByHand) {
  const float third = std::log(3.0f);
  // The reference: 1/2 and 1/2. The model: 3/4 and 1/4.
  const TokenComparison token = compareLogits(std::vector{third, 0.0f}, std::vector{5.0f, 5.0f}, 0);
  EXPECT_NEAR(token.divergence, 0.5 * std::log(4.0 / 3), 1e-7); // log(3) is rounded to float
  EXPECT_TRUE(token.sameTop) << "the lowest id among equals";
  EXPECT_NEAR(token.referenceNll, std::log(2.0), 1e-12);
}

TEST(Divergence, ofEqualLogitsIsZeroAndOfRuledOutTokensInfinite) {
  const std::vector<float> some = {1, 2, 3, -infinity};
  EXPECT_EQ(compareLogits(some, some, 0).divergence, 0);
  EXPECT_TRUE(compareLogits(some, some, 0).sameTop);
  const std::vector<float> all = {1, 2, 3, 4};
  EXPECT_EQ(compareLogits(some, all, 0).divergence, double(infinity));
  EXPECT_FALSE(compareLogits(some, all, 0).sameTop);
  EXPECT_TRUE(std::isfinite(compareLogits(all, some, 0).divergence));
}

TEST(Divergence, refusesNonsenseOfEitherModel) {
  const std::vector<float> good = {1, 2}, bad = {1, std::nanf("")};
  EXPECT_THAT(refusal([&] { compareLogits(bad, good, 0); }), HasSubstr("1: logit 1"));
  EXPECT_THAT(refusal([&] { compareLogits(good, bad, 0); }), HasSubstr("1: logit 1"));
  EXPECT_THAT(refusal([&] { compareLogits(good, {good.data(), 1}, 0); }), HasSubstr("2: "));
  EXPECT_THAT(refusal([&] { compareLogits(good, good, 2); }), HasSubstr("2: token id 2"));
}

TEST(Divergence, sharesOfTokensAreCountedFromTheSmallest) {
  Comparison comparison;
  for (int i = 100; i > 0; --i)
    comparison.add({0, 0, double(i), i % 4 != 0});
  EXPECT_EQ(comparison.divergenceAt(0.99), 99);
  EXPECT_EQ(comparison.divergenceAt(1), 100);
  EXPECT_EQ(comparison.divergenceAt(0), 1);
  EXPECT_DOUBLE_EQ(comparison.meanDivergence(), 50.5);
  EXPECT_DOUBLE_EQ(comparison.agreement(), 0.75);
}
