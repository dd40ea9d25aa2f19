// Rotary frequencies against the published formula, with the numbers of gpt-oss worked out apart.
#include "ir/dialect/RopeFrequencies.h"

#include <cmath>

#include <gtest/gtest.h>

#include "ir/dialect/InfDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

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
  RopeFrequencies rope = ropeFrequencies(headDim, theta, gptOssYarn(false));
  EXPECT_DOUBLE_EQ(rope.attentionFactor, 1.3465735902799727);
}

/// A table of heads of 8, theta 10000: frequencies 1, 0.1, 0.01, 0.001 before scaling.
class RopeTable : public testing::Test {
protected:
  RopeTable() : builder(&context) { context.loadDialect<InfDialect>(); }

  RopeTableOp make(const char *type) {
    table = builder.create<RopeTableOp>(
        builder.getUnknownLoc(), builder.getStringAttr("r"), builder.getStringAttr(type),
        builder.getI64IntegerAttr(8), builder.getF64FloatAttr(10000), nullptr, nullptr, nullptr,
        nullptr, nullptr, nullptr, nullptr, builder.getBoolAttr(true), nullptr);
    return *table;
  }
  mlir::FloatAttr number(double value) { return builder.getF64FloatAttr(value); }

  mlir::MLIRContext context;
  mlir::OpBuilder builder;
  mlir::OwningOpRef<RopeTableOp> table;
};

TEST_F(RopeTable, AttentionFactorNamedInTheTableWins) {
  RopeTableOp op = make("yarn");
  op.setFactorAttr(number(32));
  op.setBetaFastAttr(number(32));
  op.setBetaSlowAttr(number(1));
  op.setOriginalContextAttr(number(4096));
  EXPECT_DOUBLE_EQ(ropeFrequencies(op).attentionFactor, 1.3465735902799727);
  op.setAttentionFactorAttr(number(1));
  EXPECT_EQ(ropeFrequencies(op).attentionFactor, 1.0);
}

TEST_F(RopeTable, LinearDividesEveryFrequencyByTheFactor) {
  RopeTableOp op = make("linear");
  op.setFactorAttr(number(4));
  RopeFrequencies rope = ropeFrequencies(op);
  for (size_t j = 0; j < 4; ++j)
    EXPECT_DOUBLE_EQ(rope.inverse[j], std::pow(10.0, -double(j)) / 4);
  EXPECT_EQ(rope.attentionFactor, 1.0);
}

TEST_F(RopeTable, DividedTakesADivisorForEachPair) {
  RopeTableOp op = make("divided");
  op.setDivisors(llvm::ArrayRef<double>{1, 2, 4, 8});
  RopeFrequencies rope = ropeFrequencies(op);
  for (size_t j = 0; j < 4; ++j)
    EXPECT_DOUBLE_EQ(rope.inverse[j], std::pow(10.0, -double(j)) / double(1 << j));
}

TEST_F(RopeTable, Llama3KeepsShortWavesDividesLongOnesAndBlendsBetween) {
  RopeTableOp op = make("llama3");
  op.setFactorAttr(number(8));
  op.setLowFrequencyFactorAttr(number(1));
  op.setHighFrequencyFactorAttr(number(4));
  // Wavelengths 6.28, 62.8, 628, 6283; kept below 250, divided above 1000.
  op.setOriginalContextAttr(number(1000));
  RopeFrequencies rope = ropeFrequencies(op);
  EXPECT_DOUBLE_EQ(rope.inverse[0], 1);
  EXPECT_DOUBLE_EQ(rope.inverse[1], 0.1);
  // (1000 / 628.3185 - 1) / (4 - 1) = 0.1971831 of it is kept.
  EXPECT_NEAR(rope.inverse[2], 0.01 * (0.1971831 + (1 - 0.1971831) / 8), 1e-9);
  EXPECT_DOUBLE_EQ(rope.inverse[3], 0.001 / 8);
}

TEST(RopeFrequencies, AttentionFactorIsOneWithoutStretching) {
  EXPECT_EQ(ropeFrequencies(headDim, theta).attentionFactor, 1.0);
  YarnSettings yarn = gptOssYarn(false);
  yarn.factor = 1;
  EXPECT_EQ(ropeFrequencies(headDim, theta, yarn).attentionFactor, 1.0);
}

TEST(RopeFrequencies, DefaultIsAPowerOfThetaPerPair) {
  RopeFrequencies rope = ropeFrequencies(8, 10000);
  ASSERT_EQ(rope.inverse.size(), 4u);
  for (size_t j = 0; j < 4; ++j)
    EXPECT_DOUBLE_EQ(rope.inverse[j], std::pow(10.0, -double(j)));
}

TEST(RopeFrequencies, YarnKeepsFastPairsStretchesSlowOnesAndBlendsBetween) {
  RopeFrequencies plain = ropeFrequencies(headDim, theta);
  RopeFrequencies yarn = ropeFrequencies(headDim, theta, gptOssYarn(false));
  EXPECT_DOUBLE_EQ(yarn.inverse[8], plain.inverse[8]);        // below 8.0928
  EXPECT_DOUBLE_EQ(yarn.inverse[18], plain.inverse[18] / 32); // above 17.3980
  // Pair 12 lies 0.41989 of the way: (12 - 8.0928) / (17.3980 - 8.0928).
  EXPECT_NEAR(yarn.inverse[12] / plain.inverse[12], 1 - 0.41989 * (1 - 1.0 / 32), 1e-4);
}

TEST(RopeFrequencies, AnEmptyRampIsAStepAndNotADivisionByZero) {
  YarnSettings yarn = gptOssYarn(false);
  yarn.betaFast = yarn.betaSlow = 4;
  RopeFrequencies rope = ropeFrequencies(headDim, theta, yarn);
  for (double inverse : rope.inverse)
    EXPECT_TRUE(std::isfinite(inverse));
}

} // namespace
} // namespace inf::ir
