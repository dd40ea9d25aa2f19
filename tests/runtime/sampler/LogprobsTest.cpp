#include "runtime/sampler/Logprobs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "runtime/sampler/HighestLogit.h"

namespace inf {
namespace {

constexpr uint64_t seed = 7;

std::vector<float> rowWithEquals(std::mt19937_64 &random, size_t size) {
  std::vector<float> row(size);
  for (float &logit : row)
    logit = random() % 10 == 0 ? -INFINITY : float(random() % 50) / 4 - 6;
  row[random() % size] = 1;
  return row;
}

TEST(Logprobs, EqualASortOfTheLogSoftmax) {
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
    std::vector<float> row = rowWithEquals(random, 1 + random() % 300);
    long double sum = 0;
    for (float logit : row)
      sum += std::exp((long double)logit);
    std::vector<int32_t> order(row.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return row[size_t(a)] > row[size_t(b)]; });
    size_t n = random() % (row.size() + 3), place = random() % row.size();
    RowLogprobs got = rowLogprobs(row, order[place], n);
    EXPECT_EQ(got.rank, place + 1);
    ASSERT_EQ(got.best.size(), std::min(n, row.size()));
    for (size_t i = 0; i < got.best.size(); ++i) {
      EXPECT_EQ(got.best[i].id, order[i]);
      double expected = double((long double)row[size_t(order[i])] - std::log(sum));
      if (std::isinf(expected)) {
        EXPECT_EQ(got.best[i].logprob, expected);
      } else { // sums of up to 300 doubles
        EXPECT_NEAR(got.best[i].logprob, expected, 1e-13);
      }
      EXPECT_EQ(topLogprobs(row, n)[i].logprob, got.best[i].logprob);
    }
  }
}

TEST(Logprobs, LargeLogitsDoNotOverflow) {
  EXPECT_NEAR(topLogprobs(std::vector<float>{3e4f, 3e4f}, 1)[0].logprob, -std::log(2.0), 1e-11);
}

TEST(Logprobs, BrokenRowsAndUnknownTokensAreRefused) {
  EXPECT_ANY_THROW(topLogprobs(std::vector<float>{1, NAN}, 1));
  EXPECT_ANY_THROW(topLogprobs(std::vector<float>{}, 1));
  EXPECT_ANY_THROW(rowLogprobs(std::vector<float>{1, 2}, 2, 1));
  EXPECT_ANY_THROW(rowLogprobs(std::vector<float>{1, 2}, -1, 1));
}

TEST(HighestLogit, IsTheFirstOfTheHighestWhereverItStands) {
  std::mt19937_64 random(seed);
  for (size_t size : {1, 15, 16, 17, 2047, 2048, 2049, 6000})
    for (int round = 0; round < 20; ++round) {
      std::vector<float> row(size);
      for (float &logit : row)
        logit = float(random() % 100) - 150;
      row[random() % size] = 7;
      row[random() % size] = 7;
      EXPECT_EQ(highestLogit(row), std::max_element(row.begin(), row.end()) - row.begin())
          << "seed " << seed << ", size " << size;
      row[random() % size] = round % 2 == 0 ? NAN : INFINITY;
      EXPECT_ANY_THROW(highestLogit(row));
    }
}

} // namespace
} // namespace inf
