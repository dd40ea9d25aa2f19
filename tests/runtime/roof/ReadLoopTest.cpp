#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "runtime/roof/ReadLoop.h"

using namespace inf;

namespace {

FeatureSet usable() { return detectFeatures(hostCpuid()).usable; }

struct LoopCase {
  std::string name;
  FeatureSet features;
};

class ReadLoops : public testing::TestWithParam<LoopCase> {
protected:
  void SetUp() override {
    if (!usable().missing(GetParam().features).empty())
      GTEST_SKIP() << "this CPU has no " << usable().missing(GetParam().features).toString();
  }
};

struct Free {
  void operator()(uint8_t *bytes) const { std::free(bytes); }
};

} // namespace

TEST_P(ReadLoops, theResultIsTheExclusiveOrOfEveryWordSoNoneIsLeftOut) {
  const uint64_t seed = 7;
  SCOPED_TRACE("seed 7");
  const size_t bytes = 5 * readLoopBytes;
  std::unique_ptr<uint8_t, Free> memory(static_cast<uint8_t *>(std::aligned_alloc(64, bytes)));
  std::mt19937_64 random(seed);
  uint64_t expected = 0;
  for (size_t at = 0; at < bytes; at += 8) {
    const uint64_t word = random();
    std::memcpy(memory.get() + at, &word, 8);
    expected ^= word;
  }
  for (bool prefetch : {false, true}) {
    const ReadLoop loop = chooseReadLoop(GetParam().features, prefetch);
    EXPECT_EQ(loop(memory.get(), bytes), expected) << prefetch;
    EXPECT_EQ(loop(memory.get(), 0), 0u) << prefetch;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Targets, ReadLoops,
    testing::Values(LoopCase{"sse2", {}}, LoopCase{"avx2", FeatureSet{}.with(Feature::AVX2)},
                    LoopCase{"avx512", FeatureSet{}.with(Feature::AVX2).with(Feature::AVX512F)}),
    [](const auto &tested) { return tested.param.name; });

TEST(ReadLoop, theWidestRegistersAreChosen) {
  const FeatureSet avx2 = FeatureSet{}.with(Feature::AVX2);
  const FeatureSet avx512 = avx2.with(Feature::AVX512F);
  EXPECT_NE(chooseReadLoop({}, false), chooseReadLoop(avx2, false));
  EXPECT_NE(chooseReadLoop(avx2, false), chooseReadLoop(avx512, false));
  EXPECT_NE(chooseReadLoop(avx512, false), chooseReadLoop(avx512, true));
}
