#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "runtime/roof/DotPeak.h"

using namespace inf;

namespace {

FeatureSet usable() { return detectFeatures(hostCpuid()).usable; }

struct DotCase {
  std::string name;
  FeatureSet features;
  DotLoop (*choose)(FeatureSet);
  std::string_view loop;
};

class DotLoops : public testing::TestWithParam<DotCase> {
protected:
  void SetUp() override {
    if (!usable().missing(GetParam().features).empty())
      GTEST_SKIP() << "this CPU has no " << usable().missing(GetParam().features).toString();
  }
};

double secondsOf(const DotLoop &loop, uint64_t rounds) {
  const auto start = std::chrono::steady_clock::now();
  loop.run(rounds);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

FeatureSet avx2() { return FeatureSet{}.with(Feature::AVX2).with(Feature::FMA); }

} // namespace

// Twelve chains over at most two units of at most one result a cycle: a round takes 6 cycles or
// more. A CPU of 10 GHz is not known; what is faster has lost its work to the compiler.
TEST_P(DotLoops, aRoundTakesAsLongAsItsInstructionsMust) {
  const DotLoop loop = GetParam().choose(GetParam().features);
  ASSERT_NE(loop.run, nullptr);
  EXPECT_EQ(loop.name, GetParam().loop);
  double best = 1;
  for (int i = 0; i < 20; ++i)
    best = std::min(best, secondsOf(loop, 100'000) / 100'000);
  EXPECT_GT(best, 6 / 10e9);
}

INSTANTIATE_TEST_SUITE_P(
    Targets, DotLoops,
    testing::Values(
        DotCase{"int8_avx512vnni", avx2().with(Feature::AVX512F).with(Feature::AVX512VNNI),
                &int8DotLoop, "vpdpbusd zmm"},
        DotCase{"int8_avxvnni", avx2().with(Feature::AVXVNNI), &int8DotLoop, "vpdpbusd ymm"},
        DotCase{"int8_avx2", avx2(), &int8DotLoop, "vpmaddubsw ymm"},
        DotCase{"f32_avx512", avx2().with(Feature::AVX512F), &f32DotLoop, "vfmadd zmm"},
        DotCase{"f32_avx2", avx2(), &f32DotLoop, "vfmadd ymm"}),
    [](const auto &tested) { return tested.param.name; });

TEST(DotPeak, aMachineWithoutVectorsHasNoLoopAndNoPeak) {
  ThreadPool pool(1);
  EXPECT_EQ(int8DotLoop({}).run, nullptr);
  EXPECT_EQ(f32DotLoop(FeatureSet{}.with(Feature::AVX2)).run, nullptr) << "FMA is needed too";
  EXPECT_EQ(measureDotPeak(pool, int8DotLoop({})), 0);
}
