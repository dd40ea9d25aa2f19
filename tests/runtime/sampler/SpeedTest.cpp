// What a choice costs among 201,088 tokens, as ratios of work on the same row in the same run.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <random>

#include <gtest/gtest.h>

#include "runtime/sampler/Sampler.h"

namespace inf {
namespace {

constexpr size_t vocabulary = 201088;

/// The shape of a model's logits: most far below the best.
std::vector<float> modelLikeRow() {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> row(vocabulary);
  for (float &logit : row)
    logit = normal(random);
  for (int i = 0; i < 20; ++i)
    row[random() % vocabulary] = 18 + normal(random);
  return row;
}

/// The fastest of 15, in microseconds: on a shared machine the only steady one.
template <typename Work> double microseconds(Work work) {
  double best = 1e18;
  for (int i = 0; i < 15; ++i) {
    auto start = std::chrono::steady_clock::now();
    work();
    std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  return best;
}

double microsecondsOf(const SamplingOptions &options, const std::vector<float> &row) {
  Sampler sampler(options, row.size());
  return microseconds([&] { sampler.accept(sampler.sample(row)); });
}

double microsecondsOfSort(const std::vector<float> &row) {
  std::vector<std::pair<float, int32_t>> pairs(row.size());
  return microseconds([&] {
    for (size_t i = 0; i < row.size(); ++i)
      pairs[i] = {row[i], int32_t(i)};
    std::sort(pairs.rbegin(), pairs.rend());
  });
}

TEST(Speed, GreedyIsOnePassAndFiltersDoNotSortAll) {
  std::vector<float> row = modelLikeRow();
  double sort = microsecondsOfSort(row);
  auto expectBelow = [&](const char *name, SamplingOptions options, double share) {
    double took = microsecondsOf(options, row);
    std::cout << name << ": " << took << " us, " << took / sort << " of sorting all (" << sort
              << " us)\n";
    EXPECT_LT(took, share * sort) << name;
  };
  SamplingOptions penalized;
  penalized.repetitionPenalty = 1.1f;
  penalized.frequencyPenalty = 0.5f;
  SamplingOptions typical{1, 0, 1, 0, 1};
  typical.typicalP = 0.9f;
  SamplingOptions sigma{1, 0, 1, 0, 1};
  sigma.topNSigma = 1;
  SamplingOptions mirostat{1, 0, 1, 0, 1};
  mirostat.mirostat = true;
  // Two to five times what they take.
  expectBelow("greedy", {}, 0.02);
  expectBelow("greedy with penalties", penalized, 0.05);
  expectBelow("top-k 40, top-p 0.9", {1, 40, 0.9f, 0, 1}, 0.05);
  expectBelow("top-n-sigma", sigma, 0.07);
  expectBelow("min-p", {1, 0, 1, 0.05f, 1}, 0.2);
  expectBelow("top-p 0.9", {1, 0, 0.9f, 0, 1}, 0.2);
  expectBelow("mirostat", mirostat, 0.2);
  expectBelow("typical-p 0.9", typical, 0.9);
}

} // namespace
} // namespace inf
