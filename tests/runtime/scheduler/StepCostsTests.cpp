#include <cmath>

#include <gtest/gtest.h>

#include "runtime/scheduler/StepCosts.h"

using namespace inf;

TEST(StepCosts, promptsAloneTakeAsManyRowsAsFitIntoTheLongestStep) {
  StepCosts costs({.paceFactor = 3, .stepSeconds = 1, .leastChunk = 8});
  EXPECT_EQ(costs.promptBudget(0), UINT32_MAX) << "nothing is known";
  costs.ran(0, 256, 2.56);
  EXPECT_EQ(costs.promptBudget(0), 100u);
}

TEST(StepCosts, streamsKeepTheirPaceBesidePrompts) {
  StepCosts costs({.paceFactor = 3, .stepSeconds = 1, .leastChunk = 8});
  EXPECT_EQ(costs.promptBudget(4), 8u) << "nothing is known";
  costs.ran(4, 0, 0.1);
  costs.ran(4, 10, 0.2);
  EXPECT_NEAR(costs.promptBudget(4), 20, 1) << "0.1 s of streams, 0.2 s of rows";
}

TEST(StepCosts, rowsThatCostTooMuchStillComeInSmallChunks) {
  StepCosts costs({.paceFactor = 3, .stepSeconds = 1, .leastChunk = 8});
  costs.ran(1, 0, 0.001);
  costs.ran(0, 10, 10);
  EXPECT_EQ(costs.promptBudget(1), 8u);
  EXPECT_EQ(costs.promptBudget(0), 8u);
}

TEST(StepCosts, aClockThatGivesNonsenseIsIgnored) {
  StepCosts costs({.paceFactor = 3, .stepSeconds = 1, .leastChunk = 8});
  costs.ran(0, 100, 1);
  for (double seconds : {-1.0, 0.0, double(NAN), double(INFINITY)})
    costs.ran(0, 100, seconds);
  EXPECT_EQ(costs.promptBudget(0), 100u);
}
