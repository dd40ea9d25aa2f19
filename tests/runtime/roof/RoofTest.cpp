#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runtime/roof/Roof.h"

using namespace inf;

namespace {

FeatureSet usable() { return detectFeatures(hostCpuid()).usable; }

} // namespace

TEST(Bandwidth, aSmallPayloadIsReadWholeAndSaidToFitTheCache) {
  ThreadPool pool(2);
  const std::vector<uint8_t> payload(3 << 20, 1);
  Bandwidth bandwidth(pool, {payload}, uint64_t(32) << 20, usable());
  EXPECT_TRUE(bandwidth.mappedFitsCache());
  EXPECT_LE(bandwidth.mappedBytes(), payload.size());
  EXPECT_GT(bandwidth.mappedBytes(), payload.size() - 5 * 4096) << "cut at pages only";
  EXPECT_EQ(bandwidth.anonymousBytes(), uint64_t(256) << 20) << "many times the cache";
  for (unsigned kind = 0; kind < readKinds; ++kind)
    EXPECT_GT(bandwidth.measure(static_cast<ReadKind>(kind)), 1e7) << readKindNames[kind];
}

TEST(Bandwidth, theWindowGrowsWithTheCacheSoThatMemoryIsMeasured) {
  ThreadPool pool(1);
  const std::vector<uint8_t> part(200 << 20, 1);
  Bandwidth bandwidth(pool, {part, part}, uint64_t(72) << 20, usable());
  EXPECT_EQ(bandwidth.anonymousBytes(), uint64_t(288) << 20);
  EXPECT_FALSE(bandwidth.mappedFitsCache());
  EXPECT_LE(bandwidth.mappedBytes(), bandwidth.anonymousBytes()) << "of both spans together";
  EXPECT_GT(bandwidth.mappedBytes(), uint64_t(287) << 20);
}

TEST(Bandwidth, withoutAPayloadOnlyMemoryOfItsOwnIsMeasured) {
  ThreadPool pool(1);
  Bandwidth bandwidth(pool, {}, 0, usable());
  EXPECT_EQ(bandwidth.measure(ReadKind::Mapped), 0);
  EXPECT_GT(bandwidth.measure(ReadKind::Anonymous), 0);
}

TEST(Roof, theBestSampleIsTheRoofAndTheMedianIsNow) {
  ThreadPool pool(1);
  Roof roof(pool, {});
  EXPECT_EQ(roof.report().bandwidth.best, 0) << "nothing sampled yet";
  EXPECT_EQ(roof.last().bandwidth, 0);
  RoofRates best;
  for (int i = 0; i < 3; ++i) {
    roof.sample();
    best.joinBetter(roof.last());
  }
  const RoofReport report = roof.report();
  EXPECT_EQ(report.samples, 3u);
  EXPECT_EQ(best.bandwidth, report.bandwidth.best);
  EXPECT_GT(report.bandwidth.now, 0);
  EXPECT_GE(report.bandwidth.best, report.bandwidth.now);
  EXPECT_EQ(report.bandwidth.best, *std::max_element(report.byLoop.begin(), report.byLoop.end()));
  for (DotKind kind : {DotKind::Int8, DotKind::Bf16, DotKind::F32}) {
    const Peak &peak = peakOf(report, kind);
    EXPECT_GE(peak.best, peak.now) << dotKindName(kind);
    EXPECT_EQ(best.operations[static_cast<size_t>(kind)], peak.best) << dotKindName(kind);
    EXPECT_EQ(peak.best > 0, dotLoop(kind, usable()).run != nullptr) << dotKindName(kind);
  }
}

TEST(RoofRates, ofTwoTheBetterOfEachIsKept) {
  RoofRates rates = {3, {1, 5, 2}};
  rates.joinBetter({2, {4, 4, 4}});
  EXPECT_EQ(rates.bandwidth, 3);
  EXPECT_EQ(rates.operations, (std::array<double, dotKinds>{4, 5, 4}));
}

TEST(Roof, theMedianOfAnEvenCountIsTheMeanOfTheTwoInTheMiddle) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({5, 1, 3}), 3);
  EXPECT_EQ(median({4, 1, 3, 9}), 3.5);
}
