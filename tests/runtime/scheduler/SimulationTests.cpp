// A million steps: no deadlock, no starvation, no leak, within the budget, in order.
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/runtime/scheduler/Simulation.h"

using namespace inf;
using namespace inf::test;

namespace {

/// INF_SEED=N repeats a run.
uint64_t firstSeed() {
  const char *text = std::getenv("INF_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 20261128;
}

struct Case {
  const char *name;
  SimulationSetup setup;
};

/// Bytes: a block takes 64.
const Case cases[] = {
    {"enoughMemory", {}}, // but classes preempt
    {"memoryForAboutOneSequence", {.kvBytes = 64 * 20}},
    {"memoryForAboutTwoWithoutPrefixes", {.kvBytes = 64 * 32, .prefixes = false}},
    {"oneSlot", {.sequences = 1, .kvBytes = 64 * 24}},
    {"manySlotsCrowded",
     {.sequences = 8, .requests = 40, .kvBytes = 64 * 40, .arrivalsPerStep = 0.6}},
};

class SimulatedLoad : public testing::TestWithParam<Case> {};

} // namespace

INSTANTIATE_TEST_SUITE_P(Cases, SimulatedLoad, testing::ValuesIn(cases),
                         [](const auto &named) { return std::string(named.param.name); });

TEST_P(SimulatedLoad, twoHundredThousandRandomStepsBreakNoRule) {
  uint64_t preemptions = 0, cachedTokens = 0;
  for (uint64_t run = 0; run < 10; ++run) {
    uint64_t seed = firstSeed() + run;
    SCOPED_TRACE(
        fmt::format("INF_SEED={} scheduler_tests --gtest_filter=*/{}", seed, GetParam().name));
    Simulation simulation(GetParam().setup, seed);
    ASSERT_EQ(simulation.run(20000), "");
    ASSERT_EQ(simulation.drain(), "");
    EXPECT_GT(simulation.finished, 500u) << "the load was no load";
    preemptions += simulation.preemptions();
    cachedTokens += simulation.cachedTokens;
  }
  EXPECT_GT(preemptions, 0u);
  EXPECT_EQ(cachedTokens > 0, GetParam().setup.prefixes);
}
