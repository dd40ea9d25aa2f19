// Drafts, rollback and what limits them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/session/Session.h"
#include "tests/runtime/session/FakeModel.h"
#include "tests/runtime/session/fake_model.h"

using namespace inf;
using namespace inf::test;
using testing::HasSubstr;

namespace {

std::vector<float> copy(std::span<const float> values) { return {values.begin(), values.end()}; }

/// One generated row (it commits), then `drafts` draft rows of made-up tokens.
StepResult stepWithDrafts(Session &session, int32_t token, uint32_t drafts) {
  std::vector<RowRequest> rows = {{token, 0, INF_ROW_GENERATED, INF_OUTPUT_LOGITS}};
  for (uint32_t i = 0; i < drafts; ++i)
    rows.push_back({static_cast<int32_t>(200 + i), 0, INF_ROW_DRAFT, INF_OUTPUT_NONE});
  return session.step(rows);
}

} // namespace

TEST(Drafts, rejectedDraftsLeaveNoTrace) {
  auto model = loadFakeModel();
  Session session(model, {});
  std::vector<int32_t> tokens = someTokens(100, 1);
  session.prefill(0, tokens);
  for (int round = 0; round < 300; ++round) {
    uint32_t drafts = static_cast<uint32_t>(round * 7) % 50;
    tokens.push_back(round % 256);
    StepResult result = stepWithDrafts(session, tokens.back(), drafts);
    ASSERT_EQ(copy(result.logits(0)), expectedLogits(*model, tokens)) << "round " << round;
    ASSERT_EQ(session.committed(0), tokens.size());
    session.rollback(0, drafts);
    ASSERT_EQ(session.position(0), tokens.size());
  }
}

TEST(Drafts, acceptedDraftsAreCommittedByTheNextGeneratedRow) {
  auto model = loadFakeModel();
  Session session(model, {});
  std::vector<int32_t> tokens = someTokens(100, 2);
  session.prefill(0, tokens);
  for (int round = 0; round < 100; ++round) {
    tokens.push_back(round % 256);
    StepResult result = stepWithDrafts(session, tokens.back(), 5);
    ASSERT_EQ(copy(result.logits(0)), expectedLogits(*model, tokens)) << "round " << round;
    session.rollback(0, 2); // three of the five are right
    for (int32_t accepted : {200, 201, 202})
      tokens.push_back(accepted);
  }
  EXPECT_EQ(session.committed(0) + 3, session.position(0));
}

TEST(Drafts, beyondTheCommittedPositionWindowGroupsLimitTheRollback) {
  auto model = loadFakeModel();
  Session session(model, {});
  std::vector<int32_t> tokens = someTokens(500, 3);
  session.prefill(0, tokens);
  // Next query 500 sees 481..499; the block of 480 is held: down to query 499 (480..498).
  EXPECT_THAT(refusal([&] { session.rollback(0, 2); }),
              AllOf(HasSubstr("2: cannot roll sequence 0 back from position 500 to 498"),
                    HasSubstr("window of 20")));
  EXPECT_EQ(session.position(0), 500u) << "a refused rollback changes nothing";
  session.rollback(0, 1);
  tokens[499] = 77;
  RowRequest row = {77, 0, INF_ROW_GENERATED, INF_OUTPUT_LOGITS};
  EXPECT_EQ(copy(session.step({&row, 1}).logits(0)), expectedLogits(*model, tokens));
}

TEST(Drafts, rollingBackEverythingIsAReset) {
  auto model = loadFakeModel();
  Session session(model, {});
  std::vector<int32_t> tokens = someTokens(15, 4);
  session.prefill(0, tokens);
  session.rollback(0, 15);
  EXPECT_EQ(session.kv().groupStats(0).free, session.kv().groupStats(0).blocks);
  EXPECT_EQ(copy(session.prefill(0, tokens).logits), expectedLogits(*model, tokens));
  EXPECT_THAT(refusal([&] { session.rollback(0, 16); }), HasSubstr("sequence 0 holds 15"));
}

TEST(Drafts, moreDraftsThanTheWindowGroupHoldsAreRefusedAndChangeNothing) {
  auto model = loadFakeModel();
  SessionOptions options;
  options.maxSequences = 2;
  Session session(model, options);
  std::vector<int32_t> tokens = someTokens(300, 5);
  session.prefill(0, tokens);
  std::vector<RowRequest> drafts(32, RowRequest{9, 0, INF_ROW_DRAFT, INF_OUTPUT_NONE});
  uint32_t steps = 0;
  std::string message;
  while (message.empty() && ++steps < 100)
    try {
      session.step(drafts);
    } catch (const std::exception &error) {
      message = error.what();
    }
  EXPECT_THAT(message, AllOf(HasSubstr("uncommitted draft tokens"), HasSubstr("KV blocks")));
  EXPECT_EQ(session.position(0), 300 + 32 * (steps - 1));
  std::vector<int32_t> other = someTokens(200, 6); // the other sequence has its own share
  EXPECT_EQ(copy(session.prefill(1, other).logits), expectedLogits(*model, other));
  session.rollback(0, 32 * (steps - 1));
  tokens.push_back(1);
  RowRequest row = {1, 0, INF_ROW_GENERATED, INF_OUTPUT_LOGITS};
  EXPECT_EQ(copy(session.step({&row, 1}).logits(0)), expectedLogits(*model, tokens));
}
