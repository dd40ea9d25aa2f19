#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/base/Error.h"
#include "runtime/session/LogLikelihood.h"

using namespace inf;

TEST(LogLikelihood, equalLogitsAreUniform) {
  std::vector<float> logits(1000, 3.5f);
  EXPECT_NEAR(negativeLogLikelihood(logits, 17), std::log(1000.0), 1e-12);
}

TEST(LogLikelihood, largeLogitsDoNotOverflow) {
  std::vector<float> logits = {3e38f, 0.0f, -3e38f};
  EXPECT_EQ(negativeLogLikelihood(logits, 0), 0.0);
  EXPECT_NEAR(negativeLogLikelihood(logits, 1), 3e38, 1e32);
}

TEST(LogLikelihood, probabilitiesAddUpToOne) {
  std::vector<float> logits = {-1.0f, 0.25f, 2.0f, -std::numeric_limits<float>::infinity()};
  double sum = 0;
  for (int32_t i = 0; i < 4; ++i)
    sum += std::exp(-negativeLogLikelihood(logits, i));
  EXPECT_NEAR(sum, 1, 1e-15);
}

TEST(LogLikelihood, nonsenseIsNamed) {
  std::vector<float> logits = {1.0f, std::nanf(""), 2.0f};
  try {
    negativeLogLikelihood(logits, 0);
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.code, ErrorCode::Internal);
    EXPECT_NE(std::string(error.what()).find("logit 1"), std::string::npos);
  }
  EXPECT_THROW(negativeLogLikelihood(logits, 3), Error);
  EXPECT_THROW(negativeLogLikelihood(logits, -1), Error);
}
