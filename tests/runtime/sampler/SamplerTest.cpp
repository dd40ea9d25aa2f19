#include "runtime/sampler/Sampler.h"

#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/Error.h"

namespace inf {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

template <typename Action> std::string messageOf(ErrorCode code, Action action) {
  try {
    action();
  } catch (const Error &error) {
    EXPECT_EQ(error.code, code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

int32_t sampleOnce(SamplingOptions options, std::vector<float> logits) {
  return Sampler(options, logits.size()).sample(logits);
}

TEST(Sampler, GreedyTakesTheHighestLogit) {
  EXPECT_EQ(sampleOnce({}, {-3, 2.5f, 2.4f}), 1);
  EXPECT_EQ(sampleOnce({}, {-3, -infinity, -4}), 0);
}

TEST(Sampler, GreedyTakesTheLowestIdAmongEquals) {
  EXPECT_EQ(sampleOnce({}, {1, 3, 3, 3}), 1);
  EXPECT_EQ(sampleOnce({}, {-0.0f, 0.0f}), 0);
}

TEST(Sampler, GreedyIgnoresTheFilters) {
  SamplingOptions options{0, 2, 0.1f, 1, 99};
  EXPECT_EQ(sampleOnce(options, {1, 2, 3}), 2);
}

TEST(Sampler, FiltersKeepTheLowerIdsAmongEquals) {
  SamplingOptions topK{1, 2, 1, 0, 0}, topP{1, 0, 0.49f, 0, 0};
  std::vector<float> logits{0, 5, 5, 5, 5};
  Sampler byK(topK, 5), byP(topP, 5); // 0.49 of 4.007 is reached by two
  for (int i = 0; i < 1000; ++i) {
    EXPECT_THAT(byK.sample(logits), testing::AnyOf(1, 2));
    EXPECT_THAT(byP.sample(logits), testing::AnyOf(1, 2));
  }
}

TEST(Sampler, SmallestTopPKeepsTheLikeliestToken) {
  SamplingOptions options{1, 0, std::numeric_limits<float>::denorm_min(), 0, 3};
  Sampler sampler(options, 3);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(sampler.sample(std::vector<float>{1, 1.5f, 1}), 1);
}

TEST(Sampler, TinyTemperatureIsTheArgmaxWithoutNaN) {
  for (float temperature : {1e-6f, 1e-30f, std::numeric_limits<float>::denorm_min()})
    for (uint64_t seed = 0; seed < 20; ++seed)
      EXPECT_EQ(sampleOnce({temperature, 0, 0.9f, 0.1f, seed}, {-1, 3, 2.99f, 3e38f, -3e38f}), 3);
}

TEST(Sampler, SameSeedGivesTheSameTokensAndAnotherSeedOthers) {
  std::vector<float> logits(1000);
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = float(i % 37) / 10;
  auto run = [&](SamplingOptions options) {
    Sampler sampler(options, logits.size());
    std::vector<int32_t> ids;
    for (int i = 0; i < 100; ++i)
      ids.push_back(sampler.sample(logits));
    return ids;
  };
  EXPECT_EQ(run({1, 50, 0.9f, 0.01f, 5}), run({1, 50, 0.9f, 0.01f, 5}));
  EXPECT_NE(run({1, 50, 0.9f, 0.01f, 5}), run({1, 50, 0.9f, 0.01f, 6}));
  EXPECT_NE(run({1, 0, 1, 0, 5}), run({1, 0, 1, 0, 6}));
}

// Weights that are powers of two make the sums exact, so these ids hold wherever the generator
// does.
TEST(Sampler, DrawsByTheGeneratorAlone) {
  std::vector<float> equal(256, 0.0f); // token = the top 8 bits of each number
  Sampler sampler({1, 0, 1, 0, 42}, 256);
  Random random(42);
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(sampler.sample(equal), int32_t(random.next() >> 56));
}

TEST(Sampler, NeverDrawsATokenOfMinusInfinity) {
  Sampler sampler({100, 0, 1, 0, 1}, 4);
  for (int i = 0; i < 1000; ++i)
    EXPECT_THAT(sampler.sample(std::vector<float>{-infinity, 1, -infinity, -infinity}), 1);
}

TEST(Sampler, BrokenLogitsAreNamedByIndex) {
  using testing::HasSubstr;
  for (float temperature : {0.0f, 1.0f}) {
    SamplingOptions options;
    options.temperature = temperature;
    auto message = [&](std::vector<float> logits) {
      return messageOf(ErrorCode::Internal, [&] { Sampler(options, 3).sample(logits); });
    };
    EXPECT_THAT(message({1, nan, 2}), HasSubstr("logit 1 of 3 is nan"));
    EXPECT_THAT(message({nan, 1}), HasSubstr("logit 0 of 2 is nan"));
    EXPECT_THAT(message({1, 2, infinity}), HasSubstr("logit 2 of 3 is inf"));
    EXPECT_THAT(message({-infinity, -infinity}), HasSubstr("all 2 logits are -infinity"));
    EXPECT_THAT(message({}), HasSubstr("0 logits were given"));
    EXPECT_THAT(message({1, 2, 3, 4}), HasSubstr("4 logits were given, expected 1 to 3"));
  }
}

TEST(Sampler, WorksAgainAfterAnError) {
  Sampler sampler({1, 0, 1, 0, 1}, 2);
  messageOf(ErrorCode::Internal, [&] { sampler.sample(std::vector<float>{nan, 1}); });
  EXPECT_EQ(sampler.sample(std::vector<float>{-infinity, 1}), 1);
}

TEST(SamplingOptions, EachBadValueIsNamedWithItsFlagAndRange) {
  using testing::HasSubstr;
  auto message = [](SamplingOptions options) {
    return messageOf(ErrorCode::Usage, [&] { Sampler sampler(options, 1); });
  };
  for (float bad : {-0.5f, 101.0f, infinity, nan})
    EXPECT_THAT(message({bad, 0, 1, 0, 0}),
                HasSubstr("--temperature is " + fmt::format("{}", bad)));
  EXPECT_THAT(message({1, -1, 1, 0, 0}), HasSubstr("--top-k is -1, expected 0"));
  for (float bad : {0.0f, -1.0f, 1.5f, nan})
    EXPECT_THAT(message({1, 0, bad, 0, 0}), HasSubstr("--top-p is " + fmt::format("{}", bad)));
  for (float bad : {-0.1f, 1.5f, nan})
    EXPECT_THAT(message({1, 0, 1, bad, 0}), HasSubstr("--min-p is " + fmt::format("{}", bad)));
}

TEST(SamplingOptions, TheEndsOfEachRangeAreAllowed) {
  SamplingOptions{}.validate();
  SamplingOptions{100, std::numeric_limits<int>::max(), 1, 1, ~uint64_t(0)}.validate();
  SamplingOptions{0, 0, 1e-9f, 0, 0}.validate();
}

} // namespace
} // namespace inf
