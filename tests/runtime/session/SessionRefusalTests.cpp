// Requests a session can't serve: refused by name, before anything has changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/session/Session.h"
#include "tests/runtime/session/FakeModel.h"
#include "tests/runtime/session/fake_model.h"

using namespace inf;
using namespace inf::test;
using testing::AllOf;
using testing::HasSubstr;

namespace {

SessionOptions withContext(uint32_t context) {
  SessionOptions options;
  options.context = context;
  return options;
}

std::string stepRefusal(Session &session, std::vector<RowRequest> rows) {
  return refusal([&] { session.step(rows); });
}

} // namespace

TEST(SessionRefusals, aPromptLongerThanTheContextIsRefusedBeforeAnyCompute) {
  Session session(loadFakeModel(), withContext(100));
  EXPECT_THAT(refusal([&] { session.prefill(0, someTokens(101, 1)); }),
              AllOf(HasSubstr("6: the prompt has 101 tokens, the context holds 100"),
                    HasSubstr("--context"), HasSubstr("4096")));
  EXPECT_EQ(session.position(0), 0u);
  EXPECT_EQ(session.kv().groupStats(0).free, session.kv().groupStats(0).blocks);
  session.prefill(0, someTokens(100, 1));
  EXPECT_THAT(stepRefusal(session, {{1, 0, INF_ROW_GENERATED, INF_OUTPUT_LOGITS}}),
              HasSubstr("6: 1 more tokens after 100 already held, the context holds 100"));
  EXPECT_EQ(session.position(0), 100u);
}

TEST(SessionRefusals, aContextTheModelDoesNotHave) {
  auto model = loadFakeModel();
  EXPECT_THAT(refusal([&] { Session(model, withContext(0)); }), HasSubstr("2: a context of 0"));
  EXPECT_THAT(refusal([&] { Session(model, withContext(FAKE_CONTEXT + 1)); }),
              HasSubstr("expected 1 to 4096"));
}

TEST(SessionRefusals, noSequencesOrFarTooMany) {
  auto model = loadFakeModel();
  SessionOptions options;
  options.maxSequences = 0;
  EXPECT_THAT(refusal([&] { Session(model, options); }), HasSubstr("2: 0 sequences"));
  options.maxSequences = UINT32_MAX;
  EXPECT_THAT(refusal([&] { Session(model, options); }), HasSubstr("expected 1 to 65536"));
}

TEST(SessionRefusals, moreRowsOrOutputsThanThePlanHolds) {
  Session session(loadFakeModel(), {});
  EXPECT_THAT(stepRefusal(session, {}), HasSubstr("2: a step of 0 rows"));
  std::vector<RowRequest> rows(FAKE_MAX_ROWS + 1);
  EXPECT_THAT(stepRefusal(session, rows), HasSubstr("2: a step of 65 rows"));
  rows.assign(FAKE_MAX_OUTPUT_ROWS + 1, RowRequest{1, 0, INF_ROW_PROMPT, INF_OUTPUT_LOGITS});
  EXPECT_THAT(stepRefusal(session, rows), HasSubstr("2: 17 rows of a step want an output"));
  EXPECT_EQ(session.position(0), 0u);
}

TEST(SessionRefusals, unknownTokensSequencesClassesAndOutputs) {
  Session session(loadFakeModel(), {});
  EXPECT_THAT(stepRefusal(session, {{FAKE_VOCABULARY, 0, INF_ROW_PROMPT, 0}}),
              HasSubstr("2: token id 272 is unknown: the model's vocabulary is 0 to 271"));
  EXPECT_THAT(stepRefusal(session, {{-1, 0, INF_ROW_PROMPT, 0}}), HasSubstr("token id -1"));
  EXPECT_THAT(stepRefusal(session, {{1, 1, INF_ROW_PROMPT, 0}}), HasSubstr("2: sequence 1"));
  EXPECT_THAT(stepRefusal(session, {{1, 0, static_cast<inf_row_class>(3), 0}}),
              HasSubstr("row class 3"));
  EXPECT_THAT(stepRefusal(session, {{1, 0, INF_ROW_PROMPT, 4}}), HasSubstr("row output 4"));
  EXPECT_THAT(refusal([&] {
                session.prefill(0, std::vector<int32_t>{1, 2, 999});
              }),
              HasSubstr("token id 999"));
  EXPECT_THAT(refusal([&] { session.prefill(0, {}); }), HasSubstr("2: the prompt has no tokens"));
  EXPECT_THAT(refusal([&] { session.reset(5); }), HasSubstr("sequence 5"));
  EXPECT_THAT(refusal([&] { session.position(5); }), HasSubstr("sequence 5"));
  EXPECT_EQ(session.position(0), 0u) << "a refused step has not happened";
}

TEST(SessionRefusals, outputsThatNoRowAskedFor) {
  Session session(loadFakeModel(), {});
  std::vector<RowRequest> rows = {{1, 0, INF_ROW_PROMPT, INF_OUTPUT_HIDDEN}};
  StepResult result = session.step(rows);
  EXPECT_THAT(refusal([&] { result.logits(0); }), HasSubstr("1: "));
  EXPECT_THAT(refusal([&] { result.hidden(1); }), HasSubstr("1: "));
  EXPECT_THAT(refusal([&] { result.tap(0, 0); }), HasSubstr("1: "));
}
