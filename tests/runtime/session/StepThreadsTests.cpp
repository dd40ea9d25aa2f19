// Which steps run on how many threads, and that nobody sees it.
#include <gtest/gtest.h>

#include <random>

#include "runtime/base/Error.h"
#include "runtime/session/Session.h"
#include "tests/runtime/session/FakeModel.h"

using namespace inf;
using namespace inf::test;

namespace {

std::vector<float> copy(std::span<const float> values) { return {values.begin(), values.end()}; }

SessionOptions following(unsigned threads) {
  SessionOptions options;
  options.threads.threads = threads;
  options.threads.capacity = threads;
  options.threadsFollowMemory = true;
  return options;
}

StepResult generate(Session &session, std::vector<int32_t> &tokens, int32_t token) {
  tokens.push_back(token);
  RowRequest row = {token, 0, INF_ROW_GENERATED, INF_OUTPUT_LOGITS};
  return session.step({&row, 1});
}

std::vector<inf_row> rowsOf(uint32_t count, inf_row_class rowClass) {
  std::vector<inf_row> rows(count);
  for (inf_row &row : rows)
    row.row_class = static_cast<uint8_t>(rowClass);
  return rows;
}

/// As a machine does whose steps take the same on any number of threads.
unsigned afterSteps(StepThreads &threads, const inf_model &model, std::span<const inf_row> rows,
                    int steps) {
  for (int i = 0; i < steps; ++i) {
    threads.begin(model, 1000, rows);
    threads.end();
  }
  return threads.begin(model, 1000, rows);
}

} // namespace

TEST(StepThreads, theNumberMayChangeFromStepToStepAndNoBitDoes) {
  auto model = loadFakeModel();
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Session session(model, following(5));
  std::vector<int32_t> tokens = someTokens(70, 1);
  session.prefill(0, tokens);
  for (int i = 0; i < 60; ++i) {
    const unsigned threads = 1 + static_cast<unsigned>(random() % 5);
    session.fixDecodeThreads(threads);
    StepResult result = generate(session, tokens, i);
    ASSERT_EQ(copy(result.logits(0)), expectedLogits(*model, tokens))
        << "step " << i << " on " << threads;
  }
}

TEST(StepThreads, theSearchChangesNoBitEither) {
  auto model = loadFakeModel();
  Session session(model, following(3));
  std::vector<int32_t> tokens = someTokens(70, 1);
  session.prefill(0, tokens);
  EXPECT_FALSE(session.decodeThreads()) << "a prompt says nothing about decoding";
  for (int i = 0; i < 700; ++i) {
    StepResult result = generate(session, tokens, i % 256);
    if (i % 20 == 0) {
      ASSERT_EQ(copy(result.logits(0)), expectedLogits(*model, tokens)) << "step " << i;
    }
  }
  const std::optional<StepThreadsReport> report = session.decodeThreads();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->all, 3u);
  EXPECT_EQ(report->steps, 700u);
  EXPECT_GE(report->threads, 1u);
  EXPECT_LE(report->threads, 3u);
}

TEST(StepThreads, whoDidNotAskForItOrCantHaveItRunsOnAllThreads) {
  auto model = loadFakeModel();
  SessionOptions notAsked = following(2), alone = following(1), crowded = following(2);
  notAsked.threadsFollowMemory = false;
  crowded.threads.capacity = 1;
  for (const SessionOptions &options : {notAsked, alone, crowded}) {
    Session session(model, options);
    std::vector<int32_t> tokens;
    generate(session, tokens, 1);
    EXPECT_FALSE(session.decodeThreads());
  }
}

TEST(StepThreads, anImpossibleNumberIsRefused) {
  Session session(loadFakeModel(), following(2));
  for (unsigned threads : {0u, 3u})
    EXPECT_NE(refusal([&] { session.fixDecodeThreads(threads); }), "") << threads;
}

TEST(StepThreads, promptsAndManyRowsRunOnAllWhateverWasFound) {
  const std::shared_ptr<const Model> loaded = loadFakeModel();
  const inf_model &model = loaded->code();
  StepThreads threads(8, true);
  threads.fix(3);
  for (uint32_t count : {1u, 15u, 16u}) {
    EXPECT_EQ(threads.begin(model, 1000, rowsOf(count, INF_ROW_GENERATED)), 3u) << count;
    EXPECT_EQ(threads.begin(model, 1000, rowsOf(count, INF_ROW_DRAFT)), 3u) << count;
    EXPECT_EQ(threads.begin(model, 1000, rowsOf(count, INF_ROW_PROMPT)), 8u) << count;
  }
  EXPECT_EQ(threads.begin(model, 1000, rowsOf(17, INF_ROW_GENERATED)), 8u);
  std::vector<inf_row> mixed = rowsOf(5, INF_ROW_GENERATED);
  mixed[3].row_class = INF_ROW_PROMPT;
  EXPECT_EQ(threads.begin(model, 1000, mixed), 8u);
}

TEST(StepThreads, eachNumberOfRowsIsSearchedForItself) {
  const std::shared_ptr<const Model> loaded = loadFakeModel();
  StepThreads threads(4, true);
  const std::vector<inf_row> one = rowsOf(1, INF_ROW_GENERATED), two = rowsOf(2, INF_ROW_GENERATED);
  afterSteps(threads, loaded->code(), one, 100);
  EXPECT_EQ(threads.report()->steps, 100u);
  EXPECT_EQ(afterSteps(threads, loaded->code(), two, 50), 4u) << "nothing is tried at first";
  EXPECT_EQ(threads.report()->steps, 100u) << "of those that ran most";
}
