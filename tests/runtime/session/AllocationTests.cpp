#include <gtest/gtest.h>

#include "runtime/session/Session.h"
#include "tests/runtime/session/AllocationCount.h"
#include "tests/runtime/session/FakeModel.h"

using namespace inf;
using namespace inf::test;

// The one test that can't hold under a sanitizer, whose malloc can't be replaced.
TEST(Allocation, aStepAllocatesNothingWhateverItsRowsAndThreads) {
  SessionOptions options;
  options.maxSequences = 4;
  options.threads.threads = 3;
  Session session(loadFakeModel(), options);
  std::vector<RowRequest> rows;
  for (uint32_t i = 0; i < 40; ++i)
    rows.push_back({static_cast<int32_t>(i), i % 4, INF_ROW_PROMPT,
                    i < 16 ? uint8_t{INF_OUTPUT_LOGITS} : uint8_t{INF_OUTPUT_NONE}});
  session.step(rows);

  uint64_t before = allocationCount();
  for (int i = 0; i < 50; ++i)
    session.step(rows);
  for (int i = 0; i < 100; ++i)
    session.step({rows.data(), 1});
  session.rollback(1, 5);
  session.reset(2);
  session.step(rows);
  EXPECT_EQ(allocationCount() - before, 0u);

  before = allocationCount();
  auto *probe = new std::vector<int>(100);
  delete probe;
  EXPECT_EQ(allocationCount() != before, allocationsAreCounted()) << "the counter counts";
}

TEST(Allocation, theSearchForTheNumberOfThreadsAllocatesNothing) {
  SessionOptions options;
  options.threads.threads = options.threads.capacity = 3;
  options.threadsFollowMemory = true;
  Session session(loadFakeModel(), options);
  RowRequest row = {1, 0, INF_ROW_GENERATED, INF_OUTPUT_LOGITS};
  session.step({&row, 1});
  uint64_t before = allocationCount();
  for (int i = 0; i < 1000; ++i)
    session.step({&row, 1});
  for (unsigned i = 0; i < 100; ++i) {
    session.fixDecodeThreads(1 + i % 3);
    session.step({&row, 1});
  }
  EXPECT_EQ(allocationCount() - before, 0u);
  EXPECT_EQ(session.decodeThreads()->steps, 1001u) << "the search was on";
}
