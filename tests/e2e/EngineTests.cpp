// Requests through the engine give the tokens of their solo runs, whatever happens around them.
#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "runtime/engine/Engine.h"
#include "runtime/engine/KvMemory.h"
#include "runtime/session/Generator.h"
#include "tests/e2e/Models.h"
#include "tests/e2e/Sessions.h"
#include "tests/runtime/engine/RecordingSink.h"

using namespace inf;
using namespace inf::test;

namespace {

constexpr uint32_t context = 512;

struct Planned {
  CompletionRequest request;
  std::chrono::microseconds pause{}; ///< before it is submitted
  std::optional<size_t> cancelAfter; ///< tokens
  std::vector<int32_t> solo;         ///< the stop token not included
};

/// Half of them begin alike; half are sampled.
std::vector<Planned> sixteen(std::mt19937_64 &random) {
  auto below = [&](uint64_t n) { return random() % n; };
  std::vector<Planned> all(16);
  for (Planned &planned : all) {
    size_t length = 1 + below(200);
    bool alike = below(2) == 0;
    for (size_t i = 0; i < length; ++i)
      planned.request.prompt.push_back(int32_t(alike ? i * 37 % 4000 : below(4000)));
    planned.request.maxTokens = uint32_t(1 + below(150));
    if (below(2) == 0) {
      planned.request.sampling.temperature = 0.9f;
      planned.request.sampling.topP = 0.95f;
      planned.request.sampling.seed = below(1000);
    }
    planned.request.priority = RequestPriority(below(3));
    planned.pause = std::chrono::microseconds(below(4000));
    if (below(4) == 0)
      planned.cancelAfter = below(planned.request.maxTokens);
  }
  return all;
}

void runSolo(const std::shared_ptr<const Model> &model, std::vector<Planned> &all) {
  SessionOptions options;
  options.context = context;
  options.threads.pin = false;
  Session session(model, options);
  for (Planned &planned : all) {
    GenerateOptions generate;
    generate.sampling = planned.request.sampling;
    generate.maxTokens = planned.request.maxTokens;
    GenerateSinks sinks;
    sinks.token = [&](int32_t id) { planned.solo.push_back(id); };
    session.reset(0);
    Generator(session, 0, generate).generate(planned.request.prompt, sinks);
  }
}

void expectSolo(Engine &engine, const std::vector<Planned> &all) {
  std::vector<std::shared_ptr<RecordingSink>> sinks;
  std::vector<uint64_t> ids;
  for (const Planned &planned : all) {
    std::this_thread::sleep_for(planned.pause);
    sinks.push_back(std::make_shared<RecordingSink>());
    ids.push_back(engine.submit(planned.request, sinks.back()));
  }
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].cancelAfter) {
      sinks[i]->waitForTokens(*all[i].cancelAfter);
      engine.cancel(ids[i]);
    }
  for (size_t i = 0; i < all.size(); ++i) {
    CompletionResult result = sinks[i]->wait();
    ASSERT_NE(result.end, CompletionEnd::Error) << result.error;
    std::vector<int32_t> tokens = sinks[i]->tokens(), solo = all[i].solo;
    if (result.end == CompletionEnd::Stop)
      tokens.pop_back();
    if (result.end == CompletionEnd::Cancelled) {
      ASSERT_TRUE(all[i].cancelAfter);
      ASSERT_LE(tokens.size(), solo.size());
      solo.resize(tokens.size());
    }
    EXPECT_EQ(tokens, solo) << "request " << i;
  }
}

/// Of keys and values, what `sequences` need for the whole context.
uint64_t bytesOf(const Model &model, uint32_t sequences) {
  KvCacheOptions options;
  options.sequences = sequences;
  options.context = context;
  options.maxRows = model.code().plan->max_rows;
  return defaultKvBytes({model.code().kv_group, model.code().kv_groups}, options, std::nullopt);
}

struct Circumstances {
  const char *name;
  uint32_t memoryForSequences; ///< 0: for all
  bool prefixes;
  unsigned threads;
};

class EngineEquality : public testing::TestWithParam<Circumstances> {};

} // namespace

INSTANTIATE_TEST_SUITE_P(Circumstances, EngineEquality,
                         testing::Values(Circumstances{"roomy", 0, true, 1},
                                         Circumstances{"withoutPrefixes", 0, false, 2},
                                         Circumstances{"preempted", 1, true, 2},
                                         Circumstances{"preemptedWithoutPrefixes", 1, false, 1}),
                         [](const auto &named) { return std::string(named.param.name); });

TEST_P(EngineEquality, sixteenRequestsEqualTheirSoloRuns) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::vector<Planned> all = sixteen(random);
  std::shared_ptr<const Model> model = Model::load(tinyDefault("avx2"));
  runSolo(model, all);
  EngineOptions options;
  options.context = context;
  options.prefixes = GetParam().prefixes;
  options.threads.threads = GetParam().threads;
  options.threads.pin = false; // tests run beside each other
  if (GetParam().memoryForSequences != 0) {
    options.kvBytes = bytesOf(*model, GetParam().memoryForSequences);
    options.growthTokens = 0;
  }
  Engine engine(model, options);
  expectSolo(engine, all);
  expectSolo(engine, all); // what the first run left in the cache doesn't matter
  EXPECT_EQ(engine.metrics().kvHeldBytes, 0u);
  if (GetParam().memoryForSequences != 0) {
    EXPECT_GT(engine.metrics().preemptions, 0u);
  }
  if (GetParam().prefixes) {
    EXPECT_GT(engine.metrics().cachedTokens, 0u);
  }
}
