// The ops of the reference interpreter against numbers worked out by hand: it defines right, so it
// is checked against the formulas of InfOps.td and not against another implementation.
#include <cmath>
#include <limits>
#include <optional>

#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ir/BlockRun.h"
#include "tests/ir/Tolerances.h"

namespace inf::test {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::Pointwise;

auto near(const std::vector<float> &expected) {
  return Pointwise(testing::FloatNear(fewRoundings), expected);
}

/// The first `count` values: heads have 16 features, of which the tests use a few.
std::vector<float> front(const std::vector<float> &values, size_t count) {
  return {values.begin(), values.begin() + ptrdiff_t(count)};
}

TEST(RmsNorm, DividesByTheRootOfTheMeanSquarePlusEps) {
  BlockRun block{2,
                 "",
                 {{"w", {"2", {1, 2}, ""}}},
                 "%y = inf.rms_norm %x, %w {eps = 3.5 : f64} : "
                 "(tensor<?x2xf32>, !inf.weight<[2]>) -> tensor<?x2xf32>"};
  // mean square of (3, 4) is 12.5; 1 / sqrt(16) = 1 / 4
  EXPECT_THAT(block.values({{3, 4}, {0, 0}}), ElementsAre(0.75f, 2, 0, 0));
}

TEST(RmsNorm, OfHeadsNormsEachPartByItselfWithTheSameWeight) {
  BlockRun block{4,
                 "",
                 {{"w", {"2", {1, 2}, ""}}},
                 "%y = inf.rms_norm %x, %w {eps = 3.5 : f64, heads = 2 : i64} : "
                 "(tensor<?x4xf32>, !inf.weight<[2]>) -> tensor<?x4xf32>"};
  EXPECT_THAT(block.values({{3, 4, 0, 0}, {0, 0, 4, 3}}),
              ElementsAre(0.75f, 2, 0, 0, 0, 0, 1, 1.5f));
}

constexpr char ropeOfTwoHeads[] = "%y = inf.rope %x by @r {heads = 2 : i64, head_dim = 4 : i64} : "
                                  "(tensor<?x8xf32>) -> tensor<?x8xf32>";

TEST(Rope, RotatesHalvesOfEachHeadByThePosition) {
  BlockRun block{8,
                 "inf.rope_table @r {type = \"default\", head_dim = 4 : i64, theta = 1.0e4 : f64}",
                 {},
                 ropeOfTwoHeads};
  std::vector<float> row{1, 0, 0, 0, 0, 0, 0, 1};
  // Pairs are (0, 2) at 1 radian a position and (1, 3) at 1/100.
  EXPECT_THAT(block.values({row, row}),
              near({1, 0, 0, 0, 0, 0, 0, 1, // position 0
                    0.54030231f, 0, 0.84147098f, 0, 0, -0.00999983f, 0, 0.99995000f}));
}

TEST(Rope, AttentionFactorScalesBothHalves) {
  BlockRun block{8,
                 "inf.rope_table @r {type = \"default\", head_dim = 4 : i64, theta = 1.0e4 : f64, "
                 "attention_factor = 2.0 : f64}",
                 {},
                 ropeOfTwoHeads};
  EXPECT_THAT(block.values({{1, 2, 3, 4, 5, 6, 7, 8}}), ElementsAre(2, 4, 6, 8, 10, 12, 14, 16));
}

/// x is query, key and value: one head of 16 features.
BlockRun selfAttention(int64_t window, double scale, std::optional<float> sink,
                       const std::string &element = "f32", const std::string &dots = "f32") {
  BlockRun block{
      16,
      fmt::format("inf.kv_group @g {{layers = array<i64>, kv_heads = 1 : i64, head_dim = "
                  "16 : i64, window = {} : i64, element = \"{}\", block_tokens = 16 : "
                  "i64}}",
                  window, element),
      {},
      fmt::format("inf.kv_append %x, %x into @g : tensor<?x16xf32>, tensor<?x16xf32>\n"
                  "%y = inf.attention %x {} over @g {{heads = 1 : i64, kv_heads = 1 : "
                  "i64, head_dim = 16 : i64, dots = \"{}\", scale = {:.17e} : f64}} : "
                  "(tensor<?x16xf32>{}) -> tensor<?x16xf32>",
                  sink ? "sinks %s" : "", dots, scale, sink ? ", !inf.weight<[1]>" : "")};
  if (sink)
    block.weights["s"] = {"1", {*sink}, ""};
  return block;
}

/// Row 1 scores key 0 with 0 and itself with ln 3: shares 1 : 3, and 1 for a sink of 0.
const std::vector<std::vector<float>> oneHot{{1, 0}, {0, 1}};

std::vector<float> secondRow(const BlockRun &block) {
  std::vector<float> values = block.values(oneHot);
  return {values[16], values[17]};
}

TEST(Attention, SharesAreTheSoftmaxOfScaledScores) {
  EXPECT_THAT(secondRow(selfAttention(0, std::log(3.0), std::nullopt)), near({0.25f, 0.75f}));
}

TEST(Attention, SinkTakesAShareAndGivesNothing) {
  EXPECT_THAT(secondRow(selfAttention(0, std::log(3.0), 0.0f)), near({0.2f, 0.6f}));
}

TEST(Attention, SinkOfMinusInfinityIsPlainSoftmax) {
  float none = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(selfAttention(0, std::log(3.0), none).values(oneHot),
            selfAttention(0, std::log(3.0), std::nullopt).values(oneHot));
}

TEST(Attention, LargeSinkTakesEverything) {
  EXPECT_THAT(secondRow(selfAttention(0, std::log(3.0), 1e4f)), ElementsAre(0, 0));
}

TEST(Attention, LargeScoresDoNotOverflow) {
  EXPECT_THAT(secondRow(selfAttention(0, 1e4, std::nullopt)), ElementsAre(0, 1));
}

TEST(Attention, WindowCountsTheRowItself) {
  // Scale 0: all keys a row sees share alike. A window of 2 is the row and the one before.
  std::vector<float> y = selfAttention(2, 0, std::nullopt).values({{6, 0}, {0, 6}, {12, 12}});
  EXPECT_THAT(front(y, 2), ElementsAre(6, 0));
  EXPECT_THAT(front({y.begin() + 16, y.end()}, 2), ElementsAre(3, 3));
  EXPECT_THAT(front({y.begin() + 32, y.end()}, 2), ElementsAre(6, 9));
}

TEST(Attention, RowsSeeNoLaterKey) {
  std::vector<float> y = selfAttention(0, 0, std::nullopt).values({{6, 0}, {0, 6}, {12, 12}});
  EXPECT_THAT(front(y, 2), ElementsAre(6, 0));
  EXPECT_THAT(front({y.begin() + 32, y.end()}, 2), ElementsAre(6, 6));
}

TEST(Attention, KeysAndValuesPassThroughTheGroupsFormat) {
  // 1 + 1/512 lies between bf16's 1 and 1 + 1/128.
  EXPECT_EQ(selfAttention(0, 1, std::nullopt, "bf16").values({{1 + 0x1p-9f}})[0], 1);
  EXPECT_EQ(selfAttention(0, 1, std::nullopt, "f32").values({{1 + 0x1p-9f}})[0], 1 + 0x1p-9f);
}

TEST(Attention, Bf16DotsRoundTheWeightsOfKeysInSumAndDenominator) {
  // A third is 171/512 in bf16: 171 of 683 parts.
  EXPECT_THAT(secondRow(selfAttention(0, std::log(3.0), std::nullopt, "bf16", "bf16")),
              near({171.0f / 683, 512.0f / 683}));
}

TEST(Attention, Bf16DotsRoundWeightsRelativeToTheHighestScoreUpToTheirTile) {
  // Key 0 scores ln 3 below the others, of its tile too.
  std::vector<std::vector<float>> rows(17, {0, 1});
  rows[0] = {1, 0};
  BlockRun block = selfAttention(0, std::log(3.0), std::nullopt, "bf16", "bf16");
  std::vector<float> last = block.values(rows);
  EXPECT_THAT((std::vector<float>{last[16 * 16], last[16 * 16 + 1]}),
              near({171.0f / (171 + 16 * 512), 16 * 512.0f / (171 + 16 * 512)}));
  // A window that leaves key 0 alone in its tile: its weight there is 1, and a third in the end.
  rows = std::vector<std::vector<float>>(17, {1, 0});
  rows[16] = {0, 1};
  block = selfAttention(2, std::log(3.0), std::nullopt, "bf16", "bf16");
  last = block.values(rows);
  EXPECT_THAT((std::vector<float>{last[16 * 16], last[16 * 16 + 1]}), near({0.25f, 0.75f}));
}

TEST(Attention, Bf16DotsRoundWeightsApartFromTheSink) {
  // The sink is 15, five times the row's own key: relative to it that would not be 1.
  const float sink = std::log(15.0f);
  EXPECT_THAT(secondRow(selfAttention(0, std::log(3.0), sink, "bf16", "bf16")),
              near({171.0f / (171 + 6 * 512), 512.0f / (171 + 6 * 512)}));
}

TEST(Attention, Bf16DotsRoundWeightsChunkByChunk) {
  // Seen from row 1024, key 0 scores 27, the next 1023 score 1 and are all zeros, its own scores 9,
  // alone in the second chunk: exactly a third of key 0. Of the first chunk 1/27 is 152/4096.
  std::vector<std::vector<float>> rows(1025, {0, 0});
  rows[0] = {0, 3};
  rows[1024] = {1, 1};
  const std::vector<float> last =
      selfAttention(0, std::log(3.0), std::nullopt, "bf16", "bf16").values(rows);
  const float sum = 1 + 1023 * 152.0f / 4096 + 1.0f / 3;
  EXPECT_THAT((std::vector<float>{last[1024 * 16], last[1024 * 16 + 1]}),
              near({1.0f / 3 / sum, (3 + 1.0f / 3) / sum}));
}

TEST(Attention, Bf16DotsRoundTheQuery) {
  // The row scores key 0 by its first number, which is 1 in bf16, and key 1 by its second, 1.
  const std::vector<std::vector<float>> rows{{8, 0}, {0, 8}, {1 + 0x1p-9f, 1}};
  const std::vector<float> rounded = selfAttention(0, 1, std::nullopt, "bf16", "bf16").values(rows);
  EXPECT_EQ(rounded[32], rounded[33]);
  const std::vector<float> exact = selfAttention(0, 1, std::nullopt, "bf16", "f32").values(rows);
  EXPECT_NE(exact[32], exact[33]);
}

TEST(Attention, NeighbouringQueryHeadsShareAKvHead) {
  BlockRun block{
      64,
      "inf.kv_group @g {layers = array<i64>, kv_heads = 2 : i64, head_dim = 16 : i64, "
      "window = 0 : i64, element = \"f32\", block_tokens = 16 : i64}",
      {},
      "%k = inf.slice %x from 0 : (tensor<?x64xf32>) -> tensor<?x32xf32>\n"
      "inf.kv_append %k, %k into @g : tensor<?x32xf32>, tensor<?x32xf32>\n"
      "%y = inf.attention %x over @g {heads = 4 : i64, kv_heads = 2 : i64, head_dim = 16 "
      ": i64, scale = 1.0 : f64} : (tensor<?x64xf32>) -> tensor<?x64xf32>"};
  std::vector<float> row(64, 0);
  row[0] = 5;  // kv head 0
  row[16] = 7; // kv head 1
  std::vector<float> y = block.values({row});
  EXPECT_THAT((std::vector<float>{y[0], y[16], y[32], y[48]}), ElementsAre(5, 5, 7, 7));
}

TEST(RouterTopK, TakesTheLowerIndexOfEqualLogitsAndTheSoftmaxOfTheChosenAlone) {
  BlockRun block{4,
                 "",
                 {},
                 "%i, %p = inf.router_topk %x top 2 : "
                 "(tensor<?x4xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)"};
  auto results = block.run({{0, 5, 5, 5}, {std::log(3.0f), 0, -9, -9}, {2, 2, 2, 2}});
  EXPECT_THAT(results[0].indices, ElementsAre(1, 2, 0, 1, 0, 1));
  EXPECT_THAT(results[1].values, near({0.5f, 0.5f, 0.75f, 0.25f, 0.5f, 0.5f}));
}

TEST(RouterTopK, OverAllGivesTheChosenTheirShareOfTheSoftmaxOverAll) {
  BlockRun block{4,
                 "",
                 {},
                 "%i, %p = inf.router_topk %x top 2 {over_all} : "
                 "(tensor<?x4xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)"};
  auto results = block.run({{std::log(3.0f), 0, std::log(2.0f), std::log(4.0f)}, {2, 2, 2, 2}});
  EXPECT_THAT(results[0].indices, ElementsAre(3, 0, 0, 1));
  EXPECT_THAT(results[1].values, near({0.4f, 0.3f, 0.25f, 0.25f}));
}

BlockRun swiglu(const std::string &activation) {
  return {2,
          "",
          {},
          fmt::format("%y = inf.swiglu %x {{activation = #inf.activation<{}>}} : "
                      "(tensor<?x2xf32>) -> tensor<?x1xf32>",
                      activation)};
}

TEST(Swiglu, PlainIsSiluOfTheGateTimesUp) {
  // sigmoid(1) = 0.7310585786
  EXPECT_THAT(swiglu("swiglu").values({{1, 2}, {0, 9}}), near({1.46211716f, 0}));
}

constexpr char gptOssActivation[] = "swiglu_clamped, limit = 7.0 : f64, alpha = 1.702 : f64";

TEST(Swiglu, ClampedAddsOneToUpAndScalesTheSigmoid) {
  // (2 + 1) * 1 * sigmoid(1.702) = 3 * 0.8457957659
  EXPECT_THAT(swiglu(gptOssActivation).values({{1, 2}}), near({2.53738730f}));
}

TEST(Swiglu, ClampedLimitsUpOnBothSidesAndTheGateFromAbove) {
  BlockRun block = swiglu(gptOssActivation);
  EXPECT_EQ(block.values({{8, 9}}), block.values({{7, 7}}));
  EXPECT_EQ(block.values({{8, -9}}), block.values({{7, -7}}));
  EXPECT_NE(block.values({{-8, 1}}), block.values({{-7, 1}}));
}

/// [n, n].
std::vector<float> identity(size_t n) {
  std::vector<float> matrix(n * n, 0.0f);
  for (size_t i = 0; i < n; ++i)
    matrix[i * n + i] = 1;
  return matrix;
}

TEST(QuantizeActivation, RoundsHalvesToEvenPerBlockOf32AndStopsAt127) {
  BlockRun block{
      96, "", {}, "%y = inf.quantize_activation %x : (tensor<?x96xf32>) -> tensor<?x96x!inf.q8>"};
  std::vector<float> x(96, 0.0f), expected(96, 0.0f);
  const std::vector<std::pair<float, float>> firsts[] = {
      {{127, 127}, {62.5f, 62}, {-63.5f, -64}, {0.5f, 0}}, // scale 1: halves to even
      {{-254, -254}, {3, 4}, {5, 4}, {0, 0}},              // scale 2, and -127 is the least
      {{0, 0}}};                                           // no division by a scale of 0
  for (size_t block32 = 0; block32 < 3; ++block32)
    for (size_t i = 0; i < firsts[block32].size(); ++i)
      std::tie(x[block32 * 32 + i], expected[block32 * 32 + i]) = firsts[block32][i];
  EXPECT_EQ(block.values({x}), expected);
}

TEST(QuantizeActivation, RoundsWhateverAnOpStoresAsQ8) {
  BlockRun block{32,
                 "",
                 {{"w", {"32, 32", identity(32), ""}}},
                 "%y = inf.linear %x, %w : (tensor<?x32xf32>, !inf.weight<[32, 32]>) -> "
                 "tensor<?x32x!inf.q8>"};
  std::vector<float> x(32, 0.25f);
  x[0] = 127;
  x[1] = 2.5f;
  std::vector<float> values = block.values({x});
  EXPECT_EQ(values[0], 127);
  EXPECT_EQ(values[1], 2);
  EXPECT_EQ(values[2], 0);
}

TEST(QuantizeActivation, RoundsToBf16ByNearestTiesToEven) {
  BlockRun block{
      5, "", {}, "%y = inf.quantize_activation %x : (tensor<?x5xf32>) -> tensor<?x5xbf16>"};
  EXPECT_THAT(block.values({{1.00390625f, 1.01171875f, -1.0040f, 3, 0}}), // two ties, one above one
              ElementsAre(1, 1.015625f, -1.0078125f, 3, 0));
}

TEST(QuantizeActivation, RoundsWhateverAnOpStoresAsBf16) {
  BlockRun block{
      1,
      "",
      {{"w", {"1, 1", {1}, ""}}},
      "%y = inf.linear %x, %w : (tensor<?x1xf32>, !inf.weight<[1, 1]>) -> tensor<?x1xbf16>"};
  EXPECT_THAT(block.values({{1.0040f}}), ElementsAre(1.0078125f));
}

TEST(Linear, ScaleComesBeforeAddendBiasAndResidual) {
  BlockRun block{
      1,
      "",
      {{"w", {"1, 1", {3}, ""}}, {"s", {"1", {2}, ""}}, {"b", {"1", {7}, ""}}},
      "%y = inf.linear %x, %w bias %b scale %s addend %x residual %x : (tensor<?x1xf32>, "
      "!inf.weight<[1, 1]>, !inf.weight<[1]>, !inf.weight<[1]>, tensor<?x1xf32>, "
      "tensor<?x1xf32>) -> tensor<?x1xf32>"};
  EXPECT_THAT(block.values({{5}}), ElementsAre(3 * 5 * 2 + 5 + 7 + 5));
}

TEST(Linear, BiasComesBeforeTheActivationAndTheResidualBehindIt) {
  // alpha 0 makes the sigmoid 1/2: gate 2 + 2, up 3 + 1 give (4 + 1) * 4 / 2 = 10.
  BlockRun block{1,
                 "",
                 {{"w", {"2, 1", {2, 3}, ""}}, {"b", {"2", {2, 1}, ""}}},
                 "%y = inf.linear %x, %w bias %b residual %x {activation = #inf.activation<"
                 "swiglu_clamped, limit = 100.0 : f64, alpha = 0.0 : f64>} : (tensor<?x1xf32>, "
                 "!inf.weight<[2, 1]>, !inf.weight<[2]>, tensor<?x1xf32>) -> tensor<?x1xf32>"};
  EXPECT_THAT(block.values({{1}}), ElementsAre(10 + 1));
}

TEST(Linear, NormActsOnTheRowsAndNotOnTheResidual) {
  BlockRun block{2,
                 "",
                 {{"w", {"2, 2", {1, 0, 0, 1}, ""}}, {"n", {"2", {1, 2}, ""}}},
                 "%y = inf.linear %x, %w norm %n residual %x {eps = 3.5 : f64} : (tensor<?x2xf32>, "
                 "!inf.weight<[2, 2]>, !inf.weight<[2]>, tensor<?x2xf32>) -> tensor<?x2xf32>"};
  EXPECT_THAT(block.values({{3, 4}}), ElementsAre(0.75f + 3, 2 + 4));
}

TEST(Moe, AddsTheChosenExpertsByTheirShares) {
  // Gates and ups come from the bias, the sigmoid is 1/2. Expert 0: (3 + 1) * 2 / 2 = 4, down 10
  // and bias 1 give 41. Expert 1: (1 + 1) * 4 / 2 = 4, down 1 gives 4. Expert 2 ties with expert 0
  // and loses. Shares are 1/4 and 3/4.
  BlockRun block{3,
                 "",
                 {{"u", {"3, 2, 3", std::vector<float>(18, 0), ""}},
                  {"ub", {"3, 2, 1", {2, 3, 4, 1, 9, 9}, ""}},
                  {"d", {"3, 3, 1", {10, 0, 0, 1, 0, 0, 9, 9, 9}, ""}},
                  {"db", {"3, 3, 1", {1, 0, 0, 0, 0, 0, 9, 9, 9}, ""}}},
                 "%i, %p = inf.router_topk %x top 2 : "
                 "(tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)\n"
                 "%y = inf.moe %x, %i, %p gate_up %u bias %ub down %d bias %db {activation = "
                 "#inf.activation<swiglu_clamped, limit = 100.0 : f64, alpha = 0.0 : f64>} : "
                 "(tensor<?x3xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 2, 3]>, "
                 "!inf.weight<[3, 2, 1]>, !inf.weight<[3, 3, 1]>, !inf.weight<[3, 3, 1]>) -> "
                 "tensor<?x3xf32>"};
  EXPECT_THAT(block.values({{0, std::log(3.0f), 0}}), ElementsAre(FloatEq(13.25f), 0, 0));
}

} // namespace
} // namespace inf::test
