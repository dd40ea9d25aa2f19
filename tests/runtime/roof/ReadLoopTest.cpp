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
  const size_t window = 32768, turns = 5 * readLoopBytes, most = 2 * window + turns;
  std::unique_ptr<uint8_t, Free> memory(static_cast<uint8_t *>(std::aligned_alloc(64, most)));
  std::mt19937_64 random(seed);
  for (size_t at = 0; at < most; at += 8) {
    const uint64_t word = random();
    std::memcpy(memory.get() + at, &word, 8);
  }
  for (size_t bytes : {size_t(0), turns, window, most}) {
    uint64_t expected = 0, word = 0;
    for (size_t at = 0; at < bytes; at += 8) {
      std::memcpy(&word, memory.get() + at, 8);
      expected ^= word;
    }
    for (ReadOrder order : {ReadOrder::Lines, ReadOrder::LinesPrefetched, ReadOrder::Pages})
      EXPECT_EQ(chooseReadLoop(GetParam().features, order)(memory.get(), bytes), expected)
          << bytes << " bytes, order " << static_cast<int>(order);
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
  const auto chosen = [](FeatureSet features) {
    return chooseReadLoop(features, ReadOrder::Lines);
  };
  EXPECT_NE(chosen({}), chosen(avx2));
  EXPECT_NE(chosen(avx2), chosen(avx512));
  EXPECT_NE(chosen(avx512), chooseReadLoop(avx512, ReadOrder::LinesPrefetched));
  EXPECT_NE(chosen(avx512), chooseReadLoop(avx512, ReadOrder::Pages));
}
