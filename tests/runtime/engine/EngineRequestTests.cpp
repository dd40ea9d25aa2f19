// What the engine promises of a request beside its tokens' bits: the sampler of a solo run, places
// taken together, ends that are counted as what they were.
#include <gtest/gtest.h>

#include "runtime/session/Generator.h"
#include "tests/runtime/engine/EngineFixture.h"

using namespace inf;
using namespace inf::test;

namespace {

/// Nothing ends an answer but its length.
FakeOptions withoutStops() {
  FakeOptions options;
  options.change = [](PayloadContents &contents) { contents.manifest.eosTokens = {}; };
  return options;
}

class EngineRequests : public EngineFixture {
protected:
  EngineRequests() : EngineFixture(3, withoutStops()) {}

  std::vector<CompletionJob> jobs(size_t count, uint32_t maxTokens) {
    std::vector<CompletionJob> made;
    for (size_t i = 0; i < count; ++i)
      made.push_back({request(3, i, maxTokens), std::make_shared<RecordingSink>()});
    return made;
  }
  /// The same request alone, by the generator.
  std::vector<int32_t> alone(const CompletionRequest &asked) const {
    SessionOptions sessionOptions;
    sessionOptions.context = options.context;
    Session session(model, sessionOptions);
    GenerateOptions generate;
    generate.sampling = asked.sampling;
    generate.maxTokens = asked.maxTokens;
    Generator generator(session, 0, generate);
    std::vector<int32_t> ids;
    GenerateSinks sinks;
    sinks.token = [&](int32_t id) { ids.push_back(id); };
    generator.generate(asked.prompt, sinks);
    return ids;
  }
};

} // namespace

TEST_F(EngineRequests, penaltiesAndDryGiveWhatTheGeneratorGivesAlone) {
  std::vector<SamplingOptions> all(6);
  all[0].presencePenalty = 2;
  all[1].frequencyPenalty = 1.5f;
  all[1].repetitionPenalty = 1.3f;
  all[1].repetitionWindow = 16;
  all[2].dryMultiplier = 4;
  all[2].dryAllowedLength = 1;
  all[2].dryBreakers = {5};
  all[3] = all[2];
  all[3].temperature = 0.8f;
  all[3].seed = 7;
  all[3].frequencyPenalty = 0.5f;
  all[4].temperature = 1.2f;
  all[4].seed = 9;
  all[4].repetitionPenalty = 1.2f;
  all[4].logitBias = {{100, 20}, {101, -100}};
  all[5].temperature = 1;
  all[5].seed = 11;
  all[5].topK = 20;
  all[5].presencePenalty = -1;
  for (SamplingOptions &sampling : all)
    for (int32_t id = 0; id < 8; ++id) // few tokens: they repeat themselves
      sampling.logitBias.push_back({id, 30});
  open();
  std::vector<CompletionRequest> asked;
  std::vector<std::shared_ptr<RecordingSink>> sinks;
  for (size_t i = 0; i < all.size(); ++i) { // more than run at a time, and all of one engine
    asked.push_back(request(20 + i, i, 60));
    for (size_t j = 10; j < 20; ++j)
      asked[i].prompt[j] = asked[i].prompt[j - 10]; // a run to repeat
    asked[i].sampling = all[i];
    sinks.push_back(std::make_shared<RecordingSink>());
    engine->submit(asked[i], sinks[i]);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(sinks[i]->wait().end, CompletionEnd::Length);
    EXPECT_EQ(sinks[i]->tokens(), alone(asked[i])) << i;
    CompletionRequest greedy = asked[i];
    greedy.sampling = {};
    greedy.sampling.logitBias = asked[i].sampling.logitBias;
    EXPECT_NE(sinks[i]->tokens(), alone(greedy)) << i << ": the options do something";
  }
}

TEST_F(EngineRequests, jobsAreTakenTogetherOrNotAtAll) {
  options.sequences = 2;
  options.queue = 2;
  options.context = 4096;
  open();
  const std::vector<uint64_t> first = engine->submitAll(jobs(2, 4000));
  ASSERT_EQ(first.size(), 2u);
  EXPECT_LT(first[0], first[1]);
  const auto reasonFor = [&](size_t count) {
    try {
      engine->submitAll(jobs(count, 1));
    } catch (const Refusal &refusal) {
      return refusal.reason;
    }
    ADD_FAILURE() << "not refused";
    return RefusalReason::Closing;
  };
  EXPECT_EQ(reasonFor(3), RefusalReason::Busy) << "two places are left";
  EXPECT_EQ(reasonFor(5), RefusalReason::Invalid) << "more than there are";
  EXPECT_EQ(engine->metrics().refusedFull, 3u);
  EXPECT_EQ(engine->submitAll(jobs(2, 1)).size(), 2u) << "the refused have taken none";
  std::vector<CompletionJob> mixed = jobs(1, 1);
  mixed.push_back({request(0, 1, 1), std::make_shared<RecordingSink>()});
  EXPECT_THROW(engine->submitAll(std::move(mixed)), Refusal) << "one of them is bad";
  EXPECT_TRUE(engine->submitAll({}).empty());
}

TEST_F(EngineRequests, anAbandonedRequestIsCancelledNotFinished) {
  open();
  auto sink = std::make_shared<RecordingSink>();
  sink->onToken = [](size_t index) {
    TokenVerdict verdict;
    verdict.abandon = verdict.finish = index == 2;
    return verdict;
  };
  engine->submit(request(5, 1, 50), sink);
  EXPECT_EQ(sink->wait().end, CompletionEnd::Cancelled);
  EXPECT_EQ(sink->tokens().size(), 3u);
  EXPECT_EQ(engine->metrics().cancelled, 1u);
  EXPECT_EQ(engine->metrics().finishedStop + engine->metrics().finishedLength, 0u);
}

TEST_F(EngineRequests, limitsSayWhatMemoryHolds) {
  open();
  EXPECT_EQ(engine->limits().capacity, 256u);
  EXPECT_EQ(engine->limits().places(), 11u);
  options.kvBytes = 30 << 10;
  open();
  const uint32_t capacity = engine->limits().capacity;
  EXPECT_LT(capacity, 256u);
  EXPECT_THROW(engine->submit(request(capacity + 1, 1, 1), std::make_shared<RecordingSink>()),
               Refusal);
  auto sink = std::make_shared<RecordingSink>();
  engine->submit(request(capacity, 1, 1), sink);
  EXPECT_EQ(sink->wait().end, CompletionEnd::Length);
}

TEST_F(EngineRequests, prefixCountersAreOfRequestsNotOfLookups) {
  open();
  for (int i = 0; i < 2; ++i) {
    auto sink = std::make_shared<RecordingSink>();
    engine->submit(request(200, 1, 1), sink);
    sink->wait();
  }
  EXPECT_EQ(engine->metrics().prefixLookupTokens, 400u);
  EXPECT_EQ(engine->metrics().prefixHitTokens, 199u);
}
