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
  DotKind kind;
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
  const DotLoop loop = dotLoop(GetParam().kind, GetParam().features);
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
                DotKind::Int8, "vpdpbusd zmm"},
        DotCase{"int8_avxvnni", avx2().with(Feature::AVXVNNI), DotKind::Int8, "vpdpbusd ymm"},
        DotCase{"int8_avx2", avx2(), DotKind::Int8, "vpmaddubsw ymm"},
        DotCase{"bf16_avx512bf16", avx2().with(Feature::AVX512F).with(Feature::AVX512BF16),
                DotKind::Bf16, "vdpbf16ps zmm"},
        DotCase{"int8_amx", FeatureSet{}.with(Feature::AMXTILE).with(Feature::AMXINT8),
                DotKind::Int8, "tdpbssd"},
        DotCase{"bf16_amx", FeatureSet{}.with(Feature::AMXTILE).with(Feature::AMXBF16),
                DotKind::Bf16, "tdpbf16ps"},
        DotCase{"f32_avx512", avx2().with(Feature::AVX512F), DotKind::F32, "vfmadd zmm"},
        DotCase{"f32_avx2", avx2(), DotKind::F32, "vfmadd ymm"}),
    [](const auto &tested) { return tested.param.name; });

TEST(DotPeak, aMachineWithoutVectorsHasNoLoopAndNoPeak) {
  ThreadPool pool(1);
  EXPECT_EQ(dotLoop(DotKind::Int8, {}).run, nullptr);
  EXPECT_EQ(dotLoop(DotKind::F32, FeatureSet{}.with(Feature::AVX2)).run, nullptr)
      << "FMA is needed too";
  EXPECT_EQ(dotLoop(DotKind::Bf16, avx2()).run, nullptr) << "FMAs are no products of bf16";
  EXPECT_EQ(measureDotPeak(pool, dotLoop(DotKind::Int8, {})), 0);
}
