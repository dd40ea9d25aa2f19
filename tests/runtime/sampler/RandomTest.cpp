#include "runtime/sampler/Random.h"

#include <gtest/gtest.h>

namespace inf {
namespace {

// The outputs of the authors' reference implementation from the state {1, 2, 3, 4}.
TEST(Random, FollowsThePublishedGenerator) {
  Random random(std::array<uint64_t, 4>{1, 2, 3, 4});
  for (uint64_t expected : {11520ull, 0ull, 1509978240ull, 1215971899390074240ull,
                            1216172134540287360ull, 607988272756665600ull})
    EXPECT_EQ(random.next(), expected);
}

// SplitMix64 from 1234567 gives these four words (its published test values).
TEST(Random, FillsItsStateBySplitMix64) {
  Random seeded(1234567);
  Random given(std::array<uint64_t, 4>{6457827717110365317u, 3203168211198807973u,
                                       9817491932198370423u, 4593380528125082431u});
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(seeded.next(), given.next());
}

TEST(Random, UnitIsBelowOneAndAtLeastZero) {
  Random random(7);
  double sum = 0;
  for (int i = 0; i < 100000; ++i) {
    double unit = random.nextUnit();
    ASSERT_GE(unit, 0);
    ASSERT_LT(unit, 1);
    sum += unit;
  }
  EXPECT_NEAR(sum / 100000, 0.5, 0.005); // 5.5 standard deviations of the mean
}

} // namespace
} // namespace inf
