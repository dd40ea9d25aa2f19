// What a step may not do, counted on the real model.
#include <gtest/gtest.h>

#include <memory>
#include <mutex>

#include "tests/e2e/CallCounters.h"
#include "tests/e2e/Models.h"
#include "tests/e2e/Sessions.h"

using namespace inf;
using namespace inf::test;

namespace {

std::vector<RowRequest> mixedRows() {
  std::vector<RowRequest> rows;
  for (uint32_t i = 0; i < 60; ++i)
    rows.push_back({int32_t(i * 37 % 4096), i % 3, INF_ROW_PROMPT, INF_OUTPUT_NONE});
  rows.push_back({5, 3, INF_ROW_GENERATED, INF_OUTPUT_LOGITS | INF_OUTPUT_HIDDEN});
  rows.push_back({6, 3, INF_ROW_DRAFT, INF_OUTPUT_LOGITS});
  return rows;
}

void runSteps(Session &session, const std::vector<RowRequest> &rows) {
  for (int i = 0; i < 12; ++i) { // far enough to pass the window and free its blocks
    session.step(rows);
    session.rollback(3, 1);
    const RowRequest one = {7, 3, INF_ROW_GENERATED, INF_OUTPUT_LOGITS};
    session.step({&one, 1});
  }
}

} // namespace

TEST(StepCost, aStepAllocatesNothingAndTakesNoLock) {
  if (!callsAreCounted())
    GTEST_SKIP() << "a sanitizer replaces malloc itself";
  SessionSetup setup;
  setup.sequences = 4;
  setup.threads = 3;
  for (const char *target : {"avx2", "avx512"}) {
    if (!runsHere(target))
      continue;
    for (const std::string &model : {tinyExact(target), tinyDefault(target)}) {
      setup.prefixes = !setup.prefixes; // full blocks enter the index within a step
      auto session = openSession(model, setup);
      const std::vector<RowRequest> rows = mixedRows();
      // From the first step on: nothing is put off to it.
      const CallCounts before = callCounts();
      runSteps(*session, rows);
      const CallCounts after = callCounts();
      EXPECT_EQ(after.allocations - before.allocations, 0u) << target;
      EXPECT_EQ(after.frees - before.frees, 0u) << target;
      EXPECT_EQ(after.locks - before.locks, 0u) << target;
    }
  }
}

TEST(StepCost, theCountersCount) {
  if (!callsAreCounted())
    GTEST_SKIP() << "a sanitizer replaces malloc itself";
  const CallCounts before = callCounts();
  std::mutex mutex;
  std::lock_guard lock(mutex);
  auto probe = std::make_unique<std::vector<int>>(100);
  probe.reset();
  const CallCounts after = callCounts();
  EXPECT_EQ(after.allocations - before.allocations, 2u);
  EXPECT_EQ(after.frees - before.frees, 2u);
  EXPECT_EQ(after.locks - before.locks, 1u);
}
