// The frequencies of many draws against the exact probabilities of each filter.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/sampler/Sampler.h"

namespace inf {
namespace {

constexpr int draws = 200000;

// Logits whose probabilities at temperature 1 are `shares`.
std::vector<float> logitsOf(const std::vector<double> &shares) {
  std::vector<float> logits;
  for (double share : shares)
    logits.push_back(float(std::log(share)));
  return logits;
}

// Pearson's chi-square of `draws` draws against `expected` (shares up to a factor; 0: never drawn),
// against the value exceeded with probability 1e-6 (Wilson-Hilferty approximation, z = 4.753). The
// seed is fixed, so a failure repeats with the same command.
void expectDistribution(SamplingOptions options, const std::vector<float> &logits,
                        const std::vector<double> &expected) {
  options.seed = 20240607;
  SCOPED_TRACE("seed 20240607, --gtest_filter=Distribution.*");
  Sampler sampler(options, logits.size());
  std::vector<int> counts(logits.size());
  for (int i = 0; i < draws; ++i)
    ++counts[size_t(sampler.sample(logits))];

  double sum = 0, chiSquare = 0;
  int freedom = -1;
  for (double share : expected)
    sum += share;
  for (size_t i = 0; i < expected.size(); ++i) {
    double mean = draws * expected[i] / sum;
    if (mean == 0) {
      EXPECT_EQ(counts[i], 0) << "token " << i << " should have been filtered out";
      continue;
    }
    ++freedom;
    chiSquare += (counts[i] - mean) * (counts[i] - mean) / mean;
  }
  if (freedom == 0)
    return;
  double spread = 2.0 / (9.0 * freedom);
  double limit = freedom * std::pow(1 - spread + 4.753 * std::sqrt(spread), 3);
  EXPECT_LT(chiSquare, limit) << freedom << " degrees of freedom";
}

const std::vector<double> shares{0.05, 0.30, 0.02, 0.20, 0.13, 0.10, 0.08, 0.07, 0.03, 0.02};

TEST(Distribution, PlainSamplingFollowsTheSoftmax) {
  expectDistribution({1, 0, 1, 0, 0}, logitsOf(shares), shares);
}

TEST(Distribution, TemperatureIsAPowerOfTheProbabilities) {
  for (float temperature : {0.5f, 0.8f, 2.0f}) {
    std::vector<double> expected;
    for (double share : shares)
      expected.push_back(std::pow(share, 1 / double(temperature)));
    expectDistribution({temperature, 0, 1, 0, 0}, logitsOf(shares), expected);
  }
}

TEST(Distribution, TopKKeepsTheKLikeliest) {
  expectDistribution({1, 4, 1, 0, 0}, logitsOf(shares), {0, 0.30, 0, 0.20, 0.13, 0.10, 0, 0, 0, 0});
  expectDistribution({1, 1, 1, 0, 0}, logitsOf(shares), {0, 1, 0, 0, 0, 0, 0, 0, 0, 0});
}

TEST(Distribution, TopKBeyondTheVocabularyKeepsAll) {
  expectDistribution({1, 1000, 1, 0, 0}, logitsOf(shares), shares);
}

TEST(Distribution, TopPKeepsTheTokenThatCrossesTheThreshold) {
  // 0.30 + 0.20 + 0.13 = 0.63 < 0.65 <= 0.73
  expectDistribution({1, 0, 0.65f, 0, 0}, logitsOf(shares),
                     {0, 0.30, 0, 0.20, 0.13, 0.10, 0, 0, 0, 0});
}

TEST(Distribution, TopPMeasuresWhatTopKLeft) {
  // Of the four kept (sum 0.73), 0.30 + 0.20 = 0.685 >= 0.6; of all ten it would be three tokens.
  expectDistribution({1, 4, 0.6f, 0, 0}, logitsOf(shares), {0, 0.30, 0, 0.20, 0, 0, 0, 0, 0, 0});
}

TEST(Distribution, TopPMeasuresAfterTheTemperature) {
  // At temperature 0.5 shares are squared: 0.09 of 0.1724 is 0.522 < 0.6 <= 0.754 with 0.04;
  // before, three tokens would be needed.
  expectDistribution({0.5f, 0, 0.6f, 0, 0}, logitsOf(shares), {0, 0.09, 0, 0.04, 0, 0, 0, 0, 0, 0});
}

TEST(Distribution, MinPKeepsWhatIsLikelyEnoughAgainstTheBest) {
  // 0.25 * 0.30 = 0.075
  expectDistribution({1, 0, 1, 0.25f, 0}, logitsOf(shares),
                     {0, 0.30, 0, 0.20, 0.13, 0.10, 0.08, 0, 0, 0});
}

TEST(Distribution, MinPOfOneKeepsTheEqualsOfTheBest) {
  expectDistribution({1, 0, 1, 1, 0}, {2, 1, 2, 0, 2}, {1, 0, 1, 0, 1});
}

TEST(Distribution, AllFiltersTogether) {
  // top-k 5: sum 0.81 (0.30 0.20 0.13 0.10 0.08); top-p 0.95: 0.73 is 0.901, so all five; min-p
  // 0.3: at least 0.09.
  expectDistribution({1, 5, 0.95f, 0.3f, 0}, logitsOf(shares),
                     {0, 0.30, 0, 0.20, 0.13, 0.10, 0, 0, 0, 0});
}

TEST(Distribution, TypicalPKeepsTheSurprisesNearestToTheEntropy) {
  // The entropy of `shares` is 1.986 nats, a share of 0.137; nearest first 0.13, 0.10, 0.20, 0.08:
  // 0.13 + 0.10 + 0.20 = 0.43 >= 0.4. The likeliest token is not typical.
  SamplingOptions options{1, 0, 1, 0, 0};
  options.typicalP = 0.4f;
  expectDistribution(options, logitsOf(shares), {0, 0, 0, 0.20, 0.13, 0.10, 0, 0, 0, 0});
}

TEST(Distribution, TopNSigmaKeepsLogitsNearTheHighest) {
  // Deviation of {4, 3, 0, 0, 0, 0, -1, ...}: by hand, of ten logits with mean 0.6 and
  // variance 2.24.
  std::vector<float> logits{4, 3, 0, 0, 0, 0, -1, 0, 0, 0};
  SamplingOptions options{1, 0, 1, 0, 0};
  options.topNSigma = 1; // 4 - 1.497 = 2.503
  expectDistribution(options, logits, {std::exp(1.0), 1, 0, 0, 0, 0, 0, 0, 0, 0});
}

TEST(Distribution, XtcLeavesOutTheTopChoicesAsOftenAsItWasTold) {
  // Of those with a share of at least 0.1 only the last, 0.10, stays.
  SamplingOptions options{1, 0, 1, 0, 0};
  options.xtcProbability = 0.25f;
  options.xtcThreshold = 0.095f;
  std::vector<double> struck{0.05, 0, 0.02, 0, 0, 0.10, 0.08, 0.07, 0.03, 0.02}, expected;
  for (size_t i = 0; i < shares.size(); ++i)
    expected.push_back(0.75 * shares[i] + 0.25 * struck[i] / 0.37);
  expectDistribution(options, logitsOf(shares), expected);
}

TEST(Distribution, XtcLeavesASingleTopChoice) {
  SamplingOptions options{1, 0, 1, 0, 0};
  options.xtcProbability = 1;
  options.xtcThreshold = 0.25f;
  expectDistribution(options, logitsOf(shares), shares);
}

TEST(Distribution, BiasMultipliesAndBanRemoves) {
  SamplingOptions options{1, 0, 1, 0, 0};
  options.logitBias = {{0, float(std::log(4.0))}, {1, -100}};
  std::vector<double> expected = shares;
  expected[0] *= 4;
  expected[1] = 0;
  expectDistribution(options, logitsOf(shares), expected);
}

TEST(Distribution, MaskedStopTokensTakeNoProbability) {
  SamplingOptions options{1, 0, 1, 0, 0};
  options.stopTokens = {1, 3};
  options.ignoreStops = true;
  expectDistribution(options, logitsOf(shares),
                     {0.05, 0, 0.02, 0, 0.13, 0.10, 0.08, 0.07, 0.03, 0.02});
}

TEST(Distribution, ExcludedTokensTakeNoProbability) {
  std::vector<float> logits = logitsOf(shares);
  logits[1] = -INFINITY;
  std::vector<double> expected = shares;
  expected[1] = 0;
  expectDistribution({1, 0, 1, 0, 0}, logits, expected);
}

} // namespace
} // namespace inf
