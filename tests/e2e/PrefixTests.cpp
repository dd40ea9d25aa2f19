// A sequence gives the same bits cold and from cached prefixes, to the end of what it generates.
#include <gtest/gtest.h>

#include <random>

#include "tests/e2e/Models.h"
#include "tests/e2e/Sessions.h"

using namespace inf;
using namespace inf::test;

namespace {

struct Variant {
  const char *target;
  bool exact;
};

std::string nameOfVariant(const testing::TestParamInfo<Variant> &variant) {
  return std::string(variant.param.target) + (variant.param.exact ? "Exact" : "Default");
}

std::vector<int32_t> randomIds(size_t count, std::mt19937 &random) {
  std::vector<int32_t> ids(count);
  for (int32_t &id : ids)
    id = static_cast<int32_t>(random() % 4000);
  return ids;
}

std::vector<int32_t> joined(std::vector<int32_t> a, std::span<const int32_t> b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// What a request gives: all logits, those of the prompt's last token first.
struct Answer {
  std::vector<int32_t> ids;
  AllLogits logits;
  uint32_t cached = 0;
};

Answer ask(Session &session, uint32_t sequence, std::span<const int32_t> prompt, uint32_t count) {
  Answer answer;
  answer.cached = session.attach(sequence, prompt);
  std::span<const float> logits = session.prefill(sequence, prompt.subspan(answer.cached)).logits;
  while (true) {
    answer.logits.insert(answer.logits.end(), logits.begin(), logits.end());
    if (answer.ids.size() == count)
      return answer;
    answer.ids.push_back(highest(logits));
    RowRequest row = {answer.ids.back(), sequence, INF_ROW_GENERATED, INF_OUTPUT_LOGITS};
    logits = session.step({&row, 1}).logits(0);
  }
}

class PrefixReuse : public testing::TestWithParam<Variant> {
protected:
  void SetUp() override {
    SKIP_UNLESS_RUNS(GetParam().target);
    path = GetParam().exact ? tinyExact(GetParam().target) : tinyDefault(GetParam().target);
    seed = std::random_device()();
    random.seed(seed);
    warm.prefixes = true;
    warm.sequences = 2;
  }
  Answer cold(std::span<const int32_t> prompt, uint32_t count) {
    if (!coldSession)
      coldSession = openSession(path);
    coldSession->reset(0);
    return ask(*coldSession, 0, prompt, count);
  }

  std::string path;
  uint32_t seed = 0;
  std::mt19937 random;
  SessionSetup warm;
  std::unique_ptr<Session> coldSession;
};

} // namespace

INSTANTIATE_TEST_SUITE_P(Targets, PrefixReuse,
                         testing::Values(Variant{"avx2", true}, Variant{"avx512", true},
                                         Variant{"avx2", false}, Variant{"icelake", false}),
                         nameOfVariant);

TEST_P(PrefixReuse, whereverAnotherSequenceDivergedTheBitsAreTheSame) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const std::vector<int32_t> prompt = randomIds(600, random);
  const Answer expected = cold(prompt, 8);
  auto session = openSession(path, warm);
  std::vector<uint32_t> splits = {1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 191, 256, 257, 599};
  for (int i = 0; i < 6; ++i)
    splits.push_back(1 + random() % 599);
  for (uint32_t split : splits) {
    session->prefill(0, std::span(prompt).first(split));
    session->prefill(0, randomIds(1 + random() % 200, random));
    if (random() % 2) // or it goes on beside the other
      session->release(0);
    const Answer found = ask(*session, 1, prompt, 8);
    EXPECT_EQ(found.cached, split);
    EXPECT_TRUE(sameBits(found.logits, expected.logits)) << "diverged at " << split;
    session->release(0);
    session->release(1);
    session->kv().dropPrefixes();
  }
}

TEST_P(PrefixReuse, everyTurnOfAChatRunsOnlyWhatIsNew) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  auto session = openSession(path, warm);
  std::vector<int32_t> chat;
  uint32_t held = 0;
  for (int turn = 0; turn < 5; ++turn) {
    chat = joined(chat, randomIds(20 + random() % 100, random));
    const Answer found = ask(*session, 0, chat, 30);
    EXPECT_EQ(found.cached, held) << "turn " << turn;
    EXPECT_TRUE(sameBits(found.logits, cold(chat, 30).logits)) << "turn " << turn;
    chat = joined(chat, found.ids);
    held = static_cast<uint32_t>(chat.size());
    session->release(0);
  }
}

TEST_P(PrefixReuse, memoryPressureUnderEveryPolicyChangesNoBit) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  uint64_t hits = 0, evicted = 0;
  for (EvictionPolicy policy : {EvictionPolicy::CostAware, EvictionPolicy::Lru, EvictionPolicy::Lfu,
                                EvictionPolicy::Random}) {
    warm.eviction = policy;
    warm.checkpointTokens = 128;
    warm.context = 512;
    auto unlimited = openSession(path, warm);
    warm.kvBytes = unlimited->kv().stats().bytes * 2 / 3;
    auto session = openSession(path, warm);
    warm.kvBytes = 0;
    std::vector<std::vector<int32_t>> texts = {randomIds(300, random)};
    for (int i = 0; i < 16; ++i) {
      const uint32_t s = random() % 2;
      session->release(s);
      std::vector<int32_t> prompt = texts[random() % texts.size()];
      prompt.resize(1 + random() % prompt.size());
      prompt = joined(prompt, randomIds(random() % 60, random));
      prompt.resize(std::min<size_t>(prompt.size(), 400));
      const Answer found = ask(*session, s, prompt, 5);
      ASSERT_TRUE(sameBits(found.logits, cold(prompt, 5).logits))
          << "policy " << int(policy) << " request " << i << ", " << found.cached << " of "
          << prompt.size() << " cached";
      texts.push_back(joined(prompt, found.ids));
    }
    hits += session->kv().stats().hitTokens;
    evicted += session->kv().stats().evictedBlocks;
  }
  // Of one policy alone both depend on the seed: requests may begin with what was just evicted.
  EXPECT_GT(hits, 300u);
  EXPECT_GT(evicted, 4u);
}
