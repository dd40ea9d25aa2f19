// Counts allocations of the whole program.
#include <vector>

#include <gtest/gtest.h>

#include "runtime/sampler/Sampler.h"
#include "tests/runtime/threads/AllocationCount.h"

namespace inf {
namespace {

TEST(Allocation, TheCounterCounts) {
  size_t before = test::allocationCount();
  std::vector<int> one(100, 1);
  EXPECT_GT(test::allocationCount(), before);
  EXPECT_EQ(one[99], 1);
}

TEST(Allocation, SampleTakesNoMemoryWhateverTheFilters) {
  std::vector<float> logits(200000);
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = float((i * 7919) % 1000) / 100;
  for (SamplingOptions options :
       {SamplingOptions{}, SamplingOptions{1, 0, 1, 0, 1}, SamplingOptions{1, 1000, 1, 0, 1},
        SamplingOptions{1, 0, 0.9f, 0, 1}, SamplingOptions{1, 0, 1, 0.1f, 1},
        SamplingOptions{0.7f, 50, 0.9f, 0.05f, 1}}) {
    Sampler sampler(options, logits.size());
    size_t before = test::allocationCount();
    for (int i = 0; i < 5; ++i)
      sampler.sample(logits);
    EXPECT_EQ(test::allocationCount(), before)
        << "top-k " << options.topK << ", top-p " << options.topP << ", min-p " << options.minP;
  }
}

TEST(Allocation, PenaltiesAndAcceptTakeNoMemoryEither) {
  std::vector<float> logits(20000);
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = float((i * 7919) % 1000) / 100;
  SamplingOptions options{1, 0, 0.9f, 0.01f, 1};
  options.repetitionPenalty = 1.1f;
  options.repetitionWindow = 16;
  options.presencePenalty = options.frequencyPenalty = 0.5f;
  options.dryMultiplier = 1;
  options.dryWindow = 64;
  options.dryBreakers = {3};
  options.logitBias = {{5, -100}, {6, 1}};
  options.stopTokens = {9};
  options.minTokens = 50;
  options.topNSigma = 3;
  options.typicalP = 0.9f;
  options.xtcProbability = 0.5f;
  std::vector<int32_t> prompt(1000, 7);
  Sampler sampler(options, logits.size());
  size_t before = test::allocationCount();
  sampler.acceptPrompt(prompt);
  for (int i = 0; i < 200; ++i)
    sampler.accept(sampler.sample(logits));
  EXPECT_EQ(test::allocationCount(), before);
}

} // namespace
} // namespace inf
