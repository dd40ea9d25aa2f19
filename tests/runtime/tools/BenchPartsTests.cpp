// The arithmetic of infrun bench, apart from any clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/tools/bench/BenchOptions.h"
#include "runtime/tools/bench/BenchReport.h"
#include "runtime/tools/bench/ExpertCounter.h"
#include "runtime/tools/bench/ModelWork.h"
#include "runtime/tools/bench/StageTimer.h"
#include "runtime/tools/bench/Sweep.h"
#include "tests/runtime/session/FakeModel.h"
#include "tests/runtime/session/fake_model.h"

using namespace inf;
using namespace inf::test;
using testing::ElementsAre;

namespace {

PackedWeight weight(uint64_t experts, uint64_t rows, uint64_t columns, WeightFormat format,
                    PackedLayout layout) {
  PackedWeight packed;
  packed.decl = {"w", experts, rows, columns, {}};
  packed.spec = {format, layout};
  packed.bytes = experts * packedExpertBytes(format, layout, rows, columns);
  return packed;
}

/// Two layers of 8 experts of which a row chooses 2, an embedding, a head.
Manifest mixture() {
  Manifest manifest;
  manifest.vocabulary = 160;
  manifest.hidden = 64;
  manifest.weights.push_back(weight(1, 160, 64, WeightFormat::BF16, PackedLayout::Rows));
  for (int layer = 0; layer < 2; ++layer) {
    manifest.weights.push_back(weight(1, 64, 1, WeightFormat::F32, PackedLayout::Vector));
    manifest.weights.push_back(weight(1, 96, 64, WeightFormat::INT8, PackedLayout::Panel16));
    manifest.weights.push_back(weight(8, 32, 64, WeightFormat::MXFP4, PackedLayout::Panel16Pairs));
    manifest.weights.push_back(weight(8, 32, 1, WeightFormat::F32, PackedLayout::VectorPairs));
  }
  manifest.weights.push_back(weight(1, 160, 64, WeightFormat::BF16, PackedLayout::Panel16));
  return manifest;
}

constexpr uint64_t rowBytes = 64 * 2, headBytes = 160 * 64 * 2;
constexpr uint64_t denseBytes = 2 * (64 * 4 + 96 * 64 / 32 * 34);
constexpr uint64_t expertBytes = 2 * (32 * 64 / 32 * 17 + 32 * 4); // scales and biases included

Manifest mixtureWith(uint64_t chosen) {
  Manifest manifest = mixture();
  manifest.bytesPerToken = rowBytes + denseBytes + headBytes + chosen * expertBytes;
  return manifest;
}

} // namespace

TEST(ModelWork, chosenExpertsFollowFromTheBytesOfAToken) {
  const ModelWork work = modelWork(mixtureWith(2));
  EXPECT_EQ(work.chosen, 2u);
  EXPECT_EQ(work.expertBytes, expertBytes);
  EXPECT_EQ(multiplyAccumulates(work, {1, 1}), 2u * 96 * 64 + 2 * 2 * 32 * 64 + 160 * 64);
}

TEST(ModelWork, ofSeveralRowsOnlyTheDistinctExpertsAreReadAndOnlyABoundIsKnown) {
  const ModelWork work = modelWork(mixtureWith(2));
  const uint64_t other = denseBytes + headBytes;
  const WeightTraffic one = weightTraffic(work, {1, 1}), three = weightTraffic(work, {3, 3}),
                      many = weightTraffic(work, {100, 1});
  EXPECT_TRUE(one.exact);
  EXPECT_EQ(one.bytes, other + rowBytes + 2 * expertBytes);
  EXPECT_FALSE(three.exact);
  EXPECT_EQ(three.bytes, other + 3 * rowBytes + 6 * expertBytes);
  EXPECT_EQ(many.bytes, other + 100 * rowBytes + 8 * expertBytes) << "there are only 8";
}

TEST(ModelWork, countedExpertsMakeTheBytesOfSeveralRowsExact) {
  const ModelWork work = modelWork(mixtureWith(2));
  const WeightTraffic three = weightTraffic(work, {3, 3}, 5 * expertBytes);
  EXPECT_TRUE(three.exact);
  EXPECT_EQ(three.bytes, denseBytes + headBytes + 3 * rowBytes + 5 * expertBytes);
}

/// A step of two rows by hand: three stages, the middle one leaves what each row chose.
class ExpertCount : public testing::Test {
protected:
  ExpertCount() {
    manifest = mixtureWith(2);
    for (size_t i = 0; i < manifest.weights.size(); ++i)
      manifest.weights[i].decl.name = i < 5 ? "layers.0.w" : "layers.1.w";
    const StageOutput other = {0, "f32", false, 1, 64}, choice = {64, "i32", false, 1, 2};
    for (int64_t layer : {0, 1})
      manifest.stages.push_back({"router", layer, {other, choice}});
    manifest.stages.push_back({"lm_head", -1, {other}});
    step.rows = 2;
    step.arena = reinterpret_cast<uint8_t *>(arena.data());
  }

  void stage(const BarrierHook &hook, std::vector<int32_t> rows = {}) {
    for (size_t i = 0; i < rows.size(); ++i) // rows of 64 bytes, from byte 64 on
      arena[16 + i / 2 * 16 + i % 2] = rows[i];
    hook.complete(hook.state, step);
  }

  Manifest manifest;
  std::vector<int32_t> arena = std::vector<int32_t>(64);
  inf_step step = {};
};

TEST_F(ExpertCount, anExpertThatSeveralRowsChoseCountsOnceALayer) {
  std::optional<ExpertCounter> counter = ExpertCounter::create(manifest);
  ASSERT_TRUE(counter);
  const BarrierHook hook = counter->hook();
  stage(hook, {0, 7, 7, 3});
  stage(hook, {1, 2, 1, 2});
  stage(hook);
  EXPECT_EQ(counter->take(), (3 + 2) * expertBytes / 2) << "half of them in each layer";
  stage(hook, {0, 1, 2, 3});
  stage(hook, {4, 5, 6, 7});
  stage(hook);
  EXPECT_EQ(counter->take(), 8 * expertBytes / 2) << "of the second step alone";
}

TEST_F(ExpertCount, aStepThatIsNotWhatTheManifestSaysIsNotCounted) {
  std::optional<ExpertCounter> counter = ExpertCounter::create(manifest);
  const BarrierHook hook = counter->hook();
  stage(hook, {0, 1, 2, 3});
  EXPECT_EQ(counter->take(), std::nullopt) << "one stage of three";
  for (int32_t wrong : {-1, 8}) {
    stage(hook, {0, 1, 2, wrong});
    stage(hook, {0, 1, 2, 3});
    stage(hook);
    EXPECT_EQ(counter->take(), std::nullopt) << wrong;
  }
}

TEST_F(ExpertCount, withoutTheChoiceOfEveryLayerThereIsNoCounter) {
  manifest.stages.erase(manifest.stages.begin());
  EXPECT_FALSE(ExpertCounter::create(manifest));
  manifest.stages.clear();
  EXPECT_FALSE(ExpertCounter::create(manifest));
}

TEST(ModelWork, theHeadIsReadAndComputedOnlyForRowsThatWantLogits) {
  const ModelWork work = modelWork(mixtureWith(2));
  EXPECT_EQ(weightTraffic(work, {1, 1}).bytes - weightTraffic(work, {1, 0}).bytes, headBytes);
  EXPECT_EQ(*multiplyAccumulates(work, {5, 1}) - *multiplyAccumulates(work, {5, 0}), 160u * 64);
}

TEST(ModelWork, aDenseModelIsExactForAnyNumberOfRows) {
  Manifest manifest = mixture();
  std::erase_if(manifest.weights, [](const PackedWeight &w) { return w.decl.experts > 1; });
  manifest.bytesPerToken = rowBytes + denseBytes + headBytes;
  const WeightTraffic traffic = weightTraffic(modelWork(manifest), {7, 7});
  EXPECT_TRUE(traffic.exact);
  EXPECT_EQ(traffic.bytes, denseBytes + headBytes + 7 * rowBytes);
}

TEST(ModelWork, aNumberOfExpertsThatDoesNotFitIsNotGuessed) {
  for (uint64_t wrong : {uint64_t(0), uint64_t(9)})
    EXPECT_EQ(modelWork(mixtureWith(wrong)).chosen, std::nullopt) << wrong;
  Manifest manifest = mixtureWith(2);
  manifest.bytesPerToken += 1;
  const ModelWork work = modelWork(manifest);
  EXPECT_EQ(work.chosen, std::nullopt);
  EXPECT_EQ(multiplyAccumulates(work, {1, 1}), std::nullopt);
  EXPECT_EQ(weightTraffic(work, {1, 1}).bytes, manifest.bytesPerToken) << "the manifest's is exact";
}

TEST(ModelWork, keysThatSeveralRowsSeeCountOnceAndWindowsEnd) {
  const auto model = loadFakeModel();
  const uint64_t full = 2 * FAKE_HEADS * FAKE_HEAD_DIM * 4, window = 2 * full; // layers: 1 and 2
  EXPECT_EQ(kvBytesOfStep(model->code(), 9, 1), 10 * full + 10 * window);
  EXPECT_EQ(kvBytesOfStep(model->code(), 100, 1), 101 * full + FAKE_WINDOW * window);
  EXPECT_EQ(kvBytesOfStep(model->code(), 100, 8), 108 * full + (FAKE_WINDOW + 7) * window);
  EXPECT_EQ(kvBytesOfStep(model->code(), 0, 8), 8 * full + 8 * window);
}

TEST(Sweep, everyCountUpToSixteenThenQuartersOfADoubling) {
  EXPECT_THAT(sweepCounts(0), ElementsAre(1));
  EXPECT_THAT(sweepCounts(1), ElementsAre(1));
  EXPECT_THAT(sweepCounts(4), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(sweepCounts(16).size(), 16u);
  const std::vector<unsigned> many = sweepCounts(70);
  EXPECT_THAT(std::vector<unsigned>(many.begin() + 15, many.end()),
              ElementsAre(16, 20, 24, 28, 32, 40, 48, 56, 64, 70));
}

TEST(Sweep, theKneeIsTheFewestThreadsWithinThreePercentOfTheBest) {
  EXPECT_EQ(kneeOf(std::vector<double>{10, 19, 20, 20.1}), 2u);
  EXPECT_EQ(kneeOf(std::vector<double>{10, 19.6, 20, 20.1}), 1u);
  EXPECT_EQ(kneeOf(std::vector<double>{10, 5}), 0u) << "more threads can be slower";
  EXPECT_EQ(kneeOf({}), 0u);
}

TEST(StageTimer, aSessionWithTheHookComputesTheSameAndShowsEveryStage) {
  const auto model = loadFakeModel();
  const std::vector<int32_t> tokens = someTokens(40, 5);
  StageTimer timer;
  StageSums sums, others;
  SessionOptions options;
  options.threads.threads = 3;
  options.barrierHook = timer.hook();
  Session session(model, options);
  timer.begin(sums);
  const std::span<const float> logits = session.prefill(0, tokens).logits;
  timer.end();
  EXPECT_EQ(std::vector<float>(logits.begin(), logits.end()), expectedLogits(*model, tokens));
  ASSERT_EQ(sums.times().size(), 3u) << "two barriers and the end";
  EXPECT_EQ(sums.times().back().waitSeconds, 0) << "the last stage ends without a barrier";
  EXPECT_GT(sums.times().front().waitSeconds, 0);
  EXPECT_EQ(sums.steps, 1u);

  const double before = sums.times().front().seconds;
  session.reset(0);
  session.prefill(0, tokens);
  EXPECT_EQ(sums.times().front().seconds, before) << "a step between begin and end only";
  session.reset(0);
  timer.begin(others);
  session.prefill(0, tokens);
  timer.end();
  EXPECT_EQ(sums.times().front().seconds, before) << "measurements that take turns stay apart";
  EXPECT_EQ(others.times().size(), 3u);
  EXPECT_EQ(others.steps, 1u);
  sums.clear();
  EXPECT_EQ(sums.times().size(), 0u);
  EXPECT_EQ(sums.steps, 0u);
}

TEST(StageTimer, moreBarriersThanRoomAreAddedToTheLast) {
  StageTimer timer;
  StageSums sums(2);
  const BarrierHook hook = timer.hook();
  timer.begin(sums);
  for (int i = 0; i < 5; ++i) {
    hook.arrive(hook.state);
    hook.leave(hook.state);
  }
  timer.end();
  EXPECT_EQ(sums.times().size(), 2u);
}

/// Four stages of ten steps.
StageSums fourStages() {
  StageSums sums(4);
  sums.sums = {{1, 0}, {2, 1}, {3, 1}, {2, 0}};
  sums.used = 4;
  sums.steps = 10;
  return sums;
}

TEST(StageRows, stagesOfOneNameAreOneRowAndSharesAddUp) {
  const auto rows = stageRows(fourStages(), {{"embedding"}, {"qkv", 0}, {"qkv", 1}, {"head"}}, 20);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].name, "qkv");
  EXPECT_EQ(rows[1].stages, 2u);
  EXPECT_EQ(rows[1].callsPerToken, 1);
  EXPECT_EQ(rows[1].seconds, 5);
  EXPECT_EQ(rows[1].waitSeconds, 2);
  EXPECT_EQ(rows[1].share, 0.7);
}

TEST(StageRows, namesThatDoNotMatchTheStepAreRefused) {
  EXPECT_THAT(refusal([] {
                stageRows(fourStages(), {{"a"}, {"b"}}, 1);
              }),
              testing::StartsWith("4: the model names 2 stages, but its step had 4"));
}

TEST(BenchRun, ratesAreMediansAndSharesNeedExactBytes) {
  BenchRun run;
  run.tokens = 10;
  run.batch = 2;
  run.seconds = {1, 4, 2};
  run.bytes = {8, 8, 10};
  run.macs = 3;
  EXPECT_EQ(run.tokensPerSecond(), 10);
  EXPECT_EQ(run.bytesPerSecond(), 5);
  EXPECT_EQ(run.operationsPerSecond(), 3);
  RoofReport roof;
  roof.bandwidth.best = 20;
  EXPECT_EQ(bandwidthFraction(run, roof), std::nullopt) << "not sampled around the runs";
  EXPECT_EQ(computeFraction(run, roof, DotKind::Bf16), std::nullopt);
  // Bytes: shares 1/2, 1/2, 1/4; the machine gave a quarter for a while.
  // Operations: 6, 1.5, 3 a second; of bf16 1/4, 1/4, 1/8.
  run.roof = {{16, {12, 24, 6}}, {4, {6, 6, 0}}, {20, {12, 24, 0}}};
  EXPECT_EQ(bandwidthFraction(run, roof), 0.5);
  EXPECT_EQ(computeFraction(run, roof, DotKind::Int8), 0.25);
  EXPECT_EQ(computeFraction(run, roof, DotKind::Bf16), 0.25);
  EXPECT_EQ(computeFraction(run, roof, DotKind::F32), 1) << "where there was a loop";
  run.bytesExact = false;
  EXPECT_EQ(bandwidthFraction(run, roof), std::nullopt);
  EXPECT_EQ(computeFraction(run, std::nullopt, DotKind::F32), std::nullopt);
}

TEST(BenchOptions, theContextHoldsEveryRunThatGoesOnFromTheLast) {
  BenchOptions options;
  options.promptTokens = {100};
  options.generatedTokens = 10;
  options.contexts = {0, 500};
  EXPECT_EQ(neededContext(options, {4096, 16}), 500u + 2 + 3 * 10);
  options.batches = {1, 4};
  EXPECT_EQ(neededContext(options, {4096, 16}), 500u + 2 + 4 * 10) << "one more counts experts";
  options.contexts = {0};
  EXPECT_EQ(neededContext(options, {4096, 16}), 100u);
  options.generatedTokens = 0;
  options.batches = {17};
  EXPECT_EQ(neededContext(options, {4096, 16}), 100u) << "without decoding no batch is needed";
}
