// Rotary frequencies against the published formula, with the numbers of gpt-oss worked out apart.
#include "ir/dialect/RopeFrequencies.h"

#include <cmath>

#include <gtest/gtest.h>

namespace inf::ir {
namespace {

/// gpt-oss: head_dim 64, theta 150000, 4096 original positions stretched 32 times.
constexpr int64_t headDim = 64;
constexpr double theta = 150000;

YarnSettings gptOssYarn(bool truncate) {
  YarnSettings yarn;
  yarn.factor = 32;
  yarn.betaFast = 32;
  yarn.betaSlow = 1;
  yarn.originalContext = 4096;
  yarn.truncate = truncate;
  return yarn;
}

TEST(YarnRange, IsWhereWavelengthsReachTheOriginalContextOverBeta) {
  YarnRange range = yarnRange(headDim, theta, gptOssYarn(false));
  EXPECT_NEAR(range.low, 8.0928, 1e-4);
  EXPECT_NEAR(range.high, 17.3980, 1e-4);
}

TEST(YarnRange, WidensToWholePairsWithTruncate) {
  YarnRange range = yarnRange(headDim, theta, gptOssYarn(true));
  EXPECT_EQ(range.low, 8);
  EXPECT_EQ(range.high, 18);
}

TEST(YarnRange, StaysInsideTheHead) {
  YarnSettings yarn = gptOssYarn(true);
  yarn.originalContext = 2; // every wavelength is longer
  EXPECT_EQ(yarnRange(headDim, theta, yarn).low, 0);
  yarn.originalContext = 1e30;
  EXPECT_EQ(yarnRange(headDim, theta, yarn).high, headDim - 1);
}

TEST(RopeFrequencies, AttentionFactorOfYarnGrowsWithTheLogarithmOfTheFactor) {
  RopeFrequencies rope = ropeFrequencies(headDim, theta, gptOssYarn(false), std::nullopt);
  EXPECT_DOUBLE_EQ(rope.attentionFactor, 1.3465735902799727);
}

TEST(RopeFrequencies, AttentionFactorNamedInTheTableWins) {
  EXPECT_EQ(ropeFrequencies(headDim, theta, gptOssYarn(false), 1.0).attentionFactor, 1.0);
}

TEST(RopeFrequencies, AttentionFactorIsOneWithoutStretching) {
  EXPECT_EQ(ropeFrequencies(headDim, theta, std::nullopt, std::nullopt).attentionFactor, 1.0);
  YarnSettings yarn = gptOssYarn(false);
  yarn.factor = 1;
  EXPECT_EQ(ropeFrequencies(headDim, theta, yarn, std::nullopt).attentionFactor, 1.0);
}

TEST(RopeFrequencies, DefaultIsAPowerOfThetaPerPair) {
  RopeFrequencies rope = ropeFrequencies(8, 10000, std::nullopt, std::nullopt);
  ASSERT_EQ(rope.inverse.size(), 4u);
  for (size_t j = 0; j < 4; ++j)
    EXPECT_DOUBLE_EQ(rope.inverse[j], std::pow(10.0, -double(j)));
}

TEST(RopeFrequencies, YarnKeepsFastPairsStretchesSlowOnesAndBlendsBetween) {
  RopeFrequencies plain = ropeFrequencies(headDim, theta, std::nullopt, std::nullopt);
  RopeFrequencies yarn = ropeFrequencies(headDim, theta, gptOssYarn(false), std::nullopt);
  EXPECT_DOUBLE_EQ(yarn.inverse[8], plain.inverse[8]);        // below 8.0928
  EXPECT_DOUBLE_EQ(yarn.inverse[18], plain.inverse[18] / 32); // above 17.3980
  // Pair 12 lies 0.41989 of the way: (12 - 8.0928) / (17.3980 - 8.0928).
  EXPECT_NEAR(yarn.inverse[12] / plain.inverse[12], 1 - 0.41989 * (1 - 1.0 / 32), 1e-4);
}

TEST(RopeFrequencies, AnEmptyRampIsAStepAndNotADivisionByZero) {
  YarnSettings yarn = gptOssYarn(false);
  yarn.betaFast = yarn.betaSlow = 4;
  RopeFrequencies rope = ropeFrequencies(headDim, theta, yarn, std::nullopt);
  for (double inverse : rope.inverse)
    EXPECT_TRUE(std::isfinite(inverse));
}

} // namespace
} // namespace inf::ir
