// Sequences that begin with what others computed, against the direct computation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "runtime/session/Session.h"
#include "tests/runtime/session/AllocationCount.h"
#include "tests/runtime/session/FakeModel.h"
#include "tests/runtime/session/fake_model.h"

using namespace inf;
using namespace inf::test;
using testing::HasSubstr;

namespace {

SessionOptions withPrefixes(uint32_t sequences) {
  SessionOptions options;
  options.maxSequences = sequences;
  options.context = 1024;
  options.prefixes = true;
  options.checkpointTokens = 128;
  return options;
}

std::vector<float> copy(std::span<const float> values) { return {values.begin(), values.end()}; }

/// Attaches, runs the rest; the logits of the last token. `ran`: rows that ran.
std::vector<float> warm(Session &session, uint32_t sequence, const std::vector<int32_t> &tokens,
                        uint64_t &ran, uint64_t tenant = 0) {
  uint32_t begin = session.attach(sequence, tokens, tenant);
  PrefillResult done = session.prefill(sequence, std::span(tokens).subspan(begin));
  ran = done.tokens;
  return copy(done.logits);
}

std::vector<int32_t> joined(std::vector<int32_t> a, const std::vector<int32_t> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

} // namespace

TEST(Prefixes, theSamePromptAgainRunsItsLastTokenOnly) {
  auto model = loadFakeModel();
  for (size_t length : {1, 2, 16, 32, 33, 64, 65, 96, 117, 300}) {
    Session session(model, withPrefixes(2));
    std::vector<int32_t> tokens = someTokens(length, length);
    std::vector<float> expected = expectedLogits(*model, tokens);
    uint64_t ran = 0;
    EXPECT_EQ(warm(session, 0, tokens, ran), expected);
    EXPECT_EQ(ran, length) << "nothing is cached yet";
    EXPECT_EQ(warm(session, 1, tokens, ran), expected) << "while the other still runs";
    EXPECT_EQ(ran, 1u) << length;
    session.release(0);
    session.release(1);
    EXPECT_EQ(warm(session, 0, tokens, ran), expected) << "after both have ended";
    EXPECT_EQ(ran, 1u) << length;
  }
}

TEST(Prefixes, theNextTurnOfAChatRunsWhatIsNewOnly) {
  auto model = loadFakeModel();
  Session session(model, withPrefixes(1));
  std::vector<int32_t> chat;
  for (uint64_t turn = 0; turn < 12; ++turn) {
    std::vector<int32_t> asked = someTokens(5 + 7 * turn, turn);
    size_t held = chat.size();
    chat = joined(chat, asked);
    uint64_t ran = 0;
    EXPECT_EQ(warm(session, 0, chat, ran), expectedLogits(*model, chat)) << "turn " << turn;
    EXPECT_EQ(ran, chat.size() - held);
    for (int32_t answer : someTokens(20, 100 + turn)) {
      RowRequest row = {answer, 0, INF_ROW_GENERATED, INF_OUTPUT_LOGITS};
      chat.push_back(answer);
      ASSERT_EQ(copy(session.step({&row, 1}).logits(0)), expectedLogits(*model, chat));
    }
    session.release(0);
  }
}

TEST(Prefixes, aRewrittenAnswerGoesOnFromThePromptsEnd) {
  auto model = loadFakeModel();
  Session session(model, withPrefixes(1));
  std::vector<int32_t> prompt = someTokens(333, 1);
  uint64_t ran = 0;
  warm(session, 0, prompt, ran);
  session.prefill(0, someTokens(400, 2)); // far beyond the window
  session.release(0);
  std::vector<int32_t> second = joined(prompt, someTokens(40, 3));
  EXPECT_EQ(warm(session, 0, second, ran), expectedLogits(*model, second));
  EXPECT_EQ(ran, 40u);
}

TEST(Prefixes, aLongPromptThatDivergesGoesOnFromTheCheckpointBefore) {
  auto model = loadFakeModel();
  Session session(model, withPrefixes(1));
  std::vector<int32_t> first = someTokens(900, 1), second = first;
  uint64_t ran = 0;
  warm(session, 0, first, ran);
  session.release(0);
  second[555] ^= 1;
  EXPECT_EQ(warm(session, 0, second, ran), expectedLogits(*model, second));
  EXPECT_EQ(ran, 900u - 512u);
}

TEST(Prefixes, tenantsDoNotMeet) {
  auto model = loadFakeModel();
  Session session(model, withPrefixes(1));
  std::vector<int32_t> tokens = someTokens(200, 1);
  for (uint64_t tenant : {0, 1, 2}) {
    uint64_t ran = 0;
    warm(session, 0, tokens, ran, tenant);
    EXPECT_EQ(ran, 200u) << "tenant " << tenant;
    session.release(0);
    warm(session, 0, tokens, ran, tenant);
    EXPECT_EQ(ran, 1u) << "tenant " << tenant;
    session.release(0);
  }
}

TEST(Prefixes, withoutThemNothingIsKept) {
  auto model = loadFakeModel();
  Session session(model, {});
  std::vector<int32_t> tokens = someTokens(100, 1);
  session.prefill(0, tokens);
  session.checkpoint(0);
  session.release(0);
  EXPECT_EQ(session.attach(0, tokens), 0u);
  EXPECT_EQ(session.kv().stats().cachedBytes, 0u);
}

TEST(Prefixes, aSequenceInUseCanNotBeginAnew) {
  Session session(loadFakeModel(), withPrefixes(1));
  std::vector<int32_t> tokens = someTokens(10, 1);
  session.prefill(0, tokens);
  EXPECT_THAT(refusal([&] { session.attach(0, tokens); }), HasSubstr("2: sequence 0 holds 10"));
  EXPECT_THAT(refusal([&] { session.attach(1, tokens); }), HasSubstr("2: sequence 1 is unknown"));
}

TEST(Prefixes, aStepThatFindsNoMemoryHasNotHappened) {
  SessionOptions options = withPrefixes(2);
  options.kvBytes = 20 * 1024; // a block of the full group is 2 KiB, of the window group 2
  auto model = loadFakeModel();
  Session session(model, options);
  std::vector<int32_t> texts[2];
  std::string message;
  while (message.empty()) {
    std::vector<RowRequest> rows;
    for (uint32_t s : {0u, 1u})
      for (int32_t token : someTokens(16, texts[s].size() + s))
        rows.push_back({token, s, INF_ROW_PROMPT, INF_OUTPUT_NONE});
    message = refusal([&] { session.step(rows); });
    if (message != "not refused")
      break;
    message.clear();
    for (const RowRequest &row : rows)
      texts[row.sequence].push_back(row.token);
    ASSERT_LT(texts[0].size(), 1000u);
  }
  EXPECT_THAT(message, HasSubstr("KV"));
  for (uint32_t s : {0u, 1u})
    EXPECT_EQ(session.position(s), texts[s].size());
  session.release(1);
  std::vector<int32_t> more = someTokens(16, texts[0].size());
  EXPECT_EQ(copy(session.prefill(0, more).logits), expectedLogits(*model, joined(texts[0], more)))
      << "what the other left is evicted for it";
}

TEST(Prefixes, stepsThatEvictAllocateNothing) {
  SessionOptions options = withPrefixes(2);
  options.kvBytes = 64 * 1024;
  Session session(loadFakeModel(), options);
  std::vector<int32_t> tokens = someTokens(500, 1);
  std::vector<RowRequest> rows(50);
  uint64_t before = allocationCount();
  for (uint32_t life = 0; life < 40; ++life) {
    uint32_t s = life % 2;
    tokens[life * 7] ^= 1;
    uint32_t from = session.attach(s, std::span(tokens).first(400));
    for (; from + 50 <= 400; from += 50) {
      for (uint32_t i = 0; i < 50; ++i)
        rows[i] = {tokens[from + i], s, INF_ROW_PROMPT, INF_OUTPUT_NONE};
      session.step(rows);
    }
    session.checkpoint(s);
    session.release(s);
  }
  EXPECT_EQ(allocationCount() - before, 0u);
  EXPECT_GT(session.kv().stats().evictedBlocks, 50u);
  EXPECT_GT(session.kv().stats().hitTokens, 1000u);
}

TEST(Prefixes, randomChatsUnderEveryPolicyComputeWhatTheyComputeAlone) {
  uint32_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  auto model = loadFakeModel();
  for (EvictionPolicy policy : {EvictionPolicy::CostAware, EvictionPolicy::Lru, EvictionPolicy::Lfu,
                                EvictionPolicy::Random})
    for (uint64_t bytes : {uint64_t{0}, uint64_t{300} << 10, uint64_t{400} << 10}) {
      SessionOptions options = withPrefixes(3);
      options.context = 600;
      options.kvBytes = bytes;
      options.eviction = policy;
      Session session(model, options);
      std::vector<std::vector<int32_t>> texts = {someTokens(100, seed)};
      for (int i = 0; i < 60; ++i) {
        uint32_t s = random() % 3;
        if (session.position(s) != 0)
          session.release(s);
        std::vector<int32_t> tokens = texts[random() % texts.size()];
        tokens.resize(random() % tokens.size() + 1);
        tokens = joined(tokens, someTokens(random() % 80, random()));
        tokens.resize(std::min<size_t>(tokens.size(), 500));
        uint64_t ran = 0;
        ASSERT_EQ(warm(session, s, tokens, ran), expectedLogits(*model, tokens));
        std::vector<int32_t> answer = someTokens(1 + random() % 50, random());
        ASSERT_EQ(copy(session.prefill(s, answer).logits),
                  expectedLogits(*model, joined(tokens, answer)));
        texts.push_back(joined(tokens, answer));
        if (random() % 2)
          session.release(s);
      }
      EXPECT_GT(session.kv().stats().hitTokens, 300u);
      if (bytes != 0) {
        EXPECT_GT(session.kv().stats().evictedBlocks, 0u);
      }
    }
}
