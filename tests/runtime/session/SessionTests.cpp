// Blocks, tables, windows, chunks, companions and threads against the direct computation.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/session/Session.h"
#include "tests/runtime/session/FakeModel.h"
#include "tests/runtime/session/fake_model.h"

using namespace inf;
using namespace inf::test;

namespace {

std::vector<float> copy(std::span<const float> values) { return {values.begin(), values.end()}; }

std::span<const int32_t> firstOf(const std::vector<int32_t> &tokens, size_t count) {
  return std::span<const int32_t>(tokens).first(count);
}

SessionOptions withThreads(unsigned threads, uint32_t sequences = 1) {
  SessionOptions options;
  options.maxSequences = sequences;
  options.threads.threads = threads;
  return options;
}

} // namespace

TEST(Session, logitsOfEveryPositionEqualTheDirectComputation) {
  auto model = loadFakeModel();
  Session session(model, {});
  std::vector<int32_t> tokens = someTokens(150, 1);
  PrefillOptions options;
  uint64_t seen = 0;
  options.eachLogits = [&](uint64_t index, std::span<const float> logits) {
    EXPECT_EQ(index, seen++);
    EXPECT_EQ(copy(logits), expectedLogits(*model, firstOf(tokens, index + 1))) << index;
  };
  session.prefill(0, tokens, options);
  EXPECT_EQ(seen, tokens.size());
  EXPECT_EQ(session.position(0), tokens.size());
  EXPECT_EQ(session.committed(0), tokens.size());
}

TEST(Session, theCutIntoStepsDoesNotMatter) {
  auto model = loadFakeModel();
  std::vector<int32_t> tokens = someTokens(700, 2);
  std::vector<float> expected = expectedLogits(*model, tokens);
  for (uint32_t chunk : {0u, 64u, 63u, 17u, 16u, 1u}) {
    Session session(model, {});
    PrefillOptions options;
    options.chunk = chunk;
    EXPECT_EQ(copy(session.prefill(0, tokens, options).logits), expected) << "chunk " << chunk;
  }
}

TEST(Session, theNumberOfThreadsDoesNotMatter) {
  auto model = loadFakeModel();
  std::vector<int32_t> tokens = someTokens(333, 3);
  std::vector<float> expected = expectedLogits(*model, tokens);
  for (unsigned threads : {1u, 2u, 3u, 7u}) {
    Session session(model, withThreads(threads));
    EXPECT_EQ(session.threads(), threads);
    EXPECT_EQ(copy(session.prefill(0, tokens).logits), expected) << threads << " threads";
  }
}

TEST(Session, eightSequencesInOneStepComputeWhatEachComputesAlone) {
  auto model = loadFakeModel();
  Session session(model, withThreads(2, 8));
  std::vector<std::vector<int32_t>> texts;
  for (uint32_t s = 0; s < 8; ++s) {
    texts.push_back(someTokens(30 + 11 * s, 100 + s));
    session.prefill(s, texts[s]);
  }
  for (int round = 0; round < 60; ++round) {
    std::vector<RowRequest> rows;
    for (uint32_t i = 0; i < 8; ++i) {
      uint32_t s = (i * 3 + round) % 8; // in any order
      texts[s].push_back((round * 7 + static_cast<int>(s)) % 256);
      rows.push_back({texts[s].back(), s, INF_ROW_GENERATED, INF_OUTPUT_LOGITS});
    }
    StepResult result = session.step(rows);
    for (uint32_t i = 0; i < 8; ++i)
      ASSERT_EQ(copy(result.logits(i)), expectedLogits(*model, texts[rows[i].sequence]))
          << "round " << round << " sequence " << rows[i].sequence;
  }
}

TEST(Session, chunksOfPromptsAndGeneratedRowsShareAStep) {
  auto model = loadFakeModel();
  Session session(model, withThreads(3, 3));
  std::vector<int32_t> longText = someTokens(400, 5), shortText = someTokens(10, 6);
  session.prefill(2, shortText);
  for (size_t done = 0; done < longText.size(); done += 40) {
    shortText.push_back(static_cast<int32_t>(done % 256));
    std::vector<RowRequest> rows;
    for (size_t i = 0; i < 40; ++i) // the generated row lies between the prompt's rows
      rows.push_back({longText[done + i], 0, INF_ROW_PROMPT, uint8_t(i == 39)});
    rows.insert(rows.begin() + 20, {shortText.back(), 2, INF_ROW_GENERATED, INF_OUTPUT_LOGITS});
    StepResult result = session.step(rows);
    ASSERT_EQ(result.outputRows, 2u);
    EXPECT_EQ(copy(result.logits(0)), expectedLogits(*model, shortText));
    EXPECT_EQ(copy(result.logits(1)), expectedLogits(*model, firstOf(longText, done + 40)));
  }
}

TEST(Session, windowBlocksAreFreedOverALongRun) {
  auto model = loadFakeModel();
  Session session(model, {});
  const KvCache &kv = session.kv();
  EXPECT_EQ(kv.groupStats(0).blocks, FAKE_CONTEXT / FAKE_FULL_BLOCK);
  EXPECT_EQ(kv.groupStats(1).blocks, (FAKE_WINDOW + FAKE_MAX_ROWS + 15) / FAKE_WINDOW_BLOCK + 1);
  std::vector<int32_t> tokens = someTokens(2000, 7);
  uint32_t most = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    RowRequest row = {tokens[i], 0, INF_ROW_GENERATED, INF_OUTPUT_LOGITS};
    StepResult result = session.step({&row, 1});
    most = std::max(most, kv.heldBlocks(0, 1));
    if (i % 200 == 199) {
      ASSERT_EQ(copy(result.logits(0)), expectedLogits(*model, firstOf(tokens, i + 1))) << i;
    }
  }
  EXPECT_LE(most, 3u) << "19 keys before the next query touch at most 3 blocks of 16";
  EXPECT_EQ(kv.heldBlocks(0, 0), (2000 + FAKE_FULL_BLOCK - 1) / FAKE_FULL_BLOCK);
  session.reset(0);
  EXPECT_EQ(kv.groupStats(0).free, kv.groupStats(0).blocks);
  EXPECT_EQ(kv.groupStats(1).free, kv.groupStats(1).blocks);
}

TEST(Session, aResetSequenceStartsAnewBesideAnother) {
  auto model = loadFakeModel();
  Session session(model, withThreads(1, 2));
  std::vector<int32_t> kept = someTokens(90, 8), first = someTokens(500, 9),
                       second = someTokens(77, 10);
  session.prefill(0, kept);
  session.prefill(1, first);
  session.reset(1);
  EXPECT_EQ(session.position(1), 0u);
  EXPECT_EQ(copy(session.prefill(1, second).logits), expectedLogits(*model, second));
  kept.push_back(1);
  RowRequest row = {1, 0, INF_ROW_GENERATED, INF_OUTPUT_LOGITS};
  EXPECT_EQ(copy(session.step({&row, 1}).logits(0)), expectedLogits(*model, kept));
}

TEST(Session, twoSessionsOfOneModelDoNotMeet) {
  auto model = loadFakeModel();
  Session one(model, {}), two(model, {});
  std::vector<int32_t> a = someTokens(100, 11), b = someTokens(120, 12);
  one.prefill(0, firstOf(a, 50));
  two.prefill(0, b);
  std::span<const int32_t> rest = std::span<const int32_t>(a).subspan(50);
  EXPECT_EQ(copy(one.prefill(0, rest).logits), expectedLogits(*model, a));
}

TEST(Session, hiddenRowsAndTapsLieWhereTheResultSays) {
  auto model = loadFakeModel();
  SessionOptions options;
  options.taps = true;
  Session session(model, options);
  std::vector<RowRequest> rows = {{5, 0, INF_ROW_PROMPT, INF_OUTPUT_HIDDEN},
                                  {6, 0, INF_ROW_PROMPT, INF_OUTPUT_NONE},
                                  {7, 0, INF_ROW_PROMPT, INF_OUTPUT_HIDDEN | INF_OUTPUT_LOGITS}};
  StepResult result = session.step(rows);
  std::vector<int32_t> tokens = {5, 6, 7};
  EXPECT_EQ(result.hidden(1)[FAKE_HIDDEN - 1],
            fakeHidden(expectedState(*model, tokens), FAKE_HIDDEN - 1));
  EXPECT_EQ(copy(result.logits(1)), expectedLogits(*model, tokens));
  for (uint32_t layer = 0; layer <= FAKE_LAYERS; ++layer)
    for (uint32_t row = 0; row < 3; ++row)
      EXPECT_EQ(result.tap(layer, row)[3],
                fakeTap(tokens[row], static_cast<int32_t>(row), layer, 3));
}

TEST(Session, aCancelledPrefillStopsBetweenChunks) {
  auto model = loadFakeModel();
  Session session(model, {});
  std::vector<int32_t> tokens = someTokens(300, 13);
  PrefillOptions options;
  int asked = 0;
  options.cancelled = [&] { return ++asked == 3; };
  PrefillResult result = session.prefill(0, tokens, options);
  EXPECT_EQ(result.tokens, 2u * FAKE_MAX_ROWS);
  EXPECT_TRUE(result.logits.empty());
  std::span<const int32_t> rest = std::span<const int32_t>(tokens).subspan(result.tokens);
  EXPECT_EQ(copy(session.prefill(0, rest).logits), expectedLogits(*model, tokens));
}
