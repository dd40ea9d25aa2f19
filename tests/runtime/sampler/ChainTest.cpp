// The steps of sampling against the slow ones of ReferenceSampler, on random rows and options.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "runtime/sampler/LogitChanges.h"
#include "runtime/sampler/Sampler.h"
#include "tests/runtime/sampler/ReferenceSampler.h"

namespace inf {
namespace {

constexpr uint64_t seed = 20250311;

std::vector<float> randomRow(std::mt19937_64 &random, size_t size) {
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> row(size);
  for (float &logit : row)
    logit = random() % 20 == 0 ? -INFINITY : normal(random);
  row[random() % size] = 5;
  return row;
}

std::vector<int32_t> randomText(std::mt19937_64 &random, size_t size, size_t words) {
  std::vector<int32_t> text(size);
  for (int32_t &id : text)
    id = int32_t(random() % words);
  return text;
}

/// One of `values`, the first half of the time.
template <typename T> T pick(std::mt19937_64 &random, std::initializer_list<T> values) {
  return random() % 2 == 0 ? *values.begin() : values.begin()[random() % values.size()];
}

SamplingOptions randomChanges(std::mt19937_64 &random) {
  SamplingOptions o;
  o.repetitionPenalty = pick(random, {1.0f, 1.3f, 0.5f, 3.0f});
  o.repetitionWindow = pick(random, {0, 1, 5, 64});
  o.presencePenalty = pick(random, {0.0f, 0.5f, -2.0f});
  o.frequencyPenalty = pick(random, {0.0f, 0.25f, -1.0f});
  o.dryMultiplier = pick(random, {0.0f, 0.8f, 5.0f});
  o.dryBase = pick(random, {1.75f, 1.0f, 3.0f});
  o.dryAllowedLength = pick(random, {2, 1, 4});
  o.dryWindow = pick(random, {4096, 1, 2, 7, 30});
  if (random() % 2)
    o.dryBreakers = {2, 5};
  if (random() % 2)
    o.logitBias = {{3, -100}, {4, 2.5f}, {7, -1}};
  o.stopTokens = {1, 6};
  o.minTokens = pick(random, {0, 3, 100});
  o.ignoreStops = random() % 4 == 0;
  return o;
}

TEST(Chain, ChangesOfLogitsEqualTheReferenceToTheBit) {
  std::mt19937_64 random(seed);
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
    SamplingOptions options = randomChanges(random);
    std::vector<float> row = randomRow(random, 12);
    // Few words: runs repeat.
    std::vector<int32_t> prompt = randomText(random, random() % 40, 2 + random() % 8), answer;
    LogitChanges changes(options, row.size());
    for (int32_t id : prompt)
      changes.acceptPrompt(id);
    for (int step = 0; step < 12; ++step) {
      std::vector<float> expected = test::referenceChanges(options, row, prompt, answer);
      std::span<const float> got =
          changes.active() ? changes.apply(row) : std::span<const float>(row);
      for (size_t i = 0; i < row.size(); ++i)
        ASSERT_EQ(got[i], expected[i]) << "token " << i << " after " << step;
      answer.push_back(int32_t(random() % 9));
      changes.accept(answer.back());
    }
  }
}

SamplingOptions randomFilters(std::mt19937_64 &random) {
  SamplingOptions o;
  o.temperature = pick(random, {1.0f, 0.5f, 2.0f});
  o.topK = pick(random, {0, 1, 5, 30});
  o.topP = pick(random, {1.0f, 0.9f, 0.3f});
  o.minP = pick(random, {0.0f, 0.05f, 0.4f});
  o.typicalP = pick(random, {1.0f, 0.8f, 0.2f});
  o.topNSigma = pick(random, {0.0f, 1.0f, 2.0f});
  o.xtcProbability = pick(random, {0.0f, 1.0f});
  o.xtcThreshold = pick(random, {0.1f, 0.02f});
  return o;
}

// Both stand for the same set: what the sampler ever draws is kept by the reference, and what the
// reference gives a share of at least 2 % is drawn (of 1000 draws, missed once in 6e8).
TEST(Chain, FiltersKeepWhatTheReferenceKeeps) {
  std::mt19937_64 random(seed);
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
    SamplingOptions options = randomFilters(random);
    options.seed = random();
    std::vector<float> row = randomRow(random, 40);
    std::map<int32_t, double> expected =
        test::referenceShares(options, row, options.xtcProbability == 1);
    Sampler sampler(options, row.size());
    std::vector<int> counts(row.size());
    for (int i = 0; i < 1000; ++i)
      ++counts[size_t(sampler.sample(row))];
    for (size_t i = 0; i < row.size(); ++i) {
      auto share = expected.find(int32_t(i));
      if (share == expected.end()) {
        ASSERT_EQ(counts[i], 0) << "token " << i << " should be left out";
      } else if (share->second > 0.02) {
        ASSERT_GT(counts[i], 0) << "token " << i << " has share " << share->second;
      }
    }
  }
}

TEST(Chain, APromptBeyondTheVocabularyIsRefused) {
  Sampler sampler({}, 10);
  EXPECT_ANY_THROW(sampler.accept(10));
  EXPECT_ANY_THROW(sampler.accept(-1));
  EXPECT_ANY_THROW(sampler.acceptPrompt(std::vector<int32_t>{1, 2, 10}));
}

TEST(Chain, ExcludingEveryTokenIsAUsageError) {
  SamplingOptions options;
  options.logitBias = {{0, -100}, {1, -100}};
  Sampler sampler(options, 2);
  EXPECT_ANY_THROW(sampler.sample(std::vector<float>{1, 2}));
}

TEST(Chain, HugePenaltiesLeaveNumbers) {
  SamplingOptions options;
  options.dryMultiplier = 100;
  options.dryBase = 100;
  options.repetitionPenalty = 0.01f;
  Sampler sampler(options, 3);
  sampler.acceptPrompt(std::vector<int32_t>(5000, 1));
  EXPECT_EQ(sampler.sample(std::vector<float>{-3e38f, 3e38f, -3e38f}), 1); // no +infinity
  EXPECT_EQ(sampler.sample(std::vector<float>{0, 3, 0}), 0);               // no NaN
}

TEST(Chain, AnotherSamplerInBetweenChangesNothing) {
  std::mt19937_64 random(seed);
  std::vector<float> row = randomRow(random, 200);
  SamplingOptions options{1, 0, 1, 0, 11};
  options.frequencyPenalty = 0.5f;
  auto run = [&](Sampler *neighbour) {
    Sampler sampler(options, row.size());
    std::vector<int32_t> ids;
    for (int i = 0; i < 100; ++i) {
      ids.push_back(sampler.sample(row));
      sampler.accept(ids.back());
      if (neighbour)
        neighbour->accept(neighbour->sample(row));
    }
    return ids;
  };
  Sampler neighbour(options, row.size());
  EXPECT_EQ(run(nullptr), run(&neighbour));
}

TEST(Chain, MirostatHoldsTheSurpriseAtItsAim) {
  std::mt19937_64 random(seed);
  std::vector<float> row(5000);
  for (size_t i = 0; i < row.size(); ++i)
    row[i] = float(-1.1 * std::log(double(i + 1))); // Zipf's law with exponent 1.1
  for (float tau : {2.0f, 4.0f, 6.0f}) {
    SamplingOptions options{1, 0, 1, 0, 5};
    options.mirostat = true;
    options.mirostatTau = tau;
    Sampler sampler(options, row.size());
    // Of what was kept, unknown from outside; so by the raw shares, which are smaller: the mean
    // surprise lies above tau, and grows with it.
    double sum = 0, total = 0;
    for (float logit : row)
      total += std::exp(double(logit));
    constexpr int draws = 4000;
    for (int i = 0; i < draws; ++i)
      sum -= std::log2(std::exp(double(row[size_t(sampler.sample(row))])) / total);
    EXPECT_GT(sum / draws, double(tau) - 0.1);
    EXPECT_LT(sum / draws, double(tau) + 2.5);
  }
}

} // namespace
} // namespace inf
