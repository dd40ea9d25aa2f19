// Counts allocations of the whole program: operator new is replaced in this executable.
#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/sampler/Sampler.h"

namespace {
std::atomic<size_t> allocations{0};
} // namespace

void *operator new(size_t size) {
  ++allocations;
  if (void *memory = std::malloc(size ? size : 1))
    return memory;
  throw std::bad_alloc();
}
// Inlined, GCC sees the free and not what the memory is from, and warns.
[[gnu::noinline]] void operator delete(void *memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, size_t) noexcept { std::free(memory); }

namespace inf {
namespace {

TEST(Allocation, TheCounterCounts) {
  size_t before = allocations;
  std::vector<int> one(100, 1);
  EXPECT_GT(allocations, before);
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
    size_t before = allocations;
    for (int i = 0; i < 5; ++i)
      sampler.sample(logits);
    EXPECT_EQ(allocations, before)
        << "top-k " << options.topK << ", top-p " << options.topP << ", min-p " << options.minP;
  }
}

} // namespace
} // namespace inf
