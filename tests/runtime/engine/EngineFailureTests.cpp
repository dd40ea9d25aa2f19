// Exceptions in steps and sinks end their requests, and nothing else.
#include <gtest/gtest.h>

#include <atomic>

#include "runtime/engine/Engine.h"
#include "tests/runtime/engine/CachedRunner.h"
#include "tests/runtime/engine/RecordingSink.h"

using namespace inf;
using namespace inf::test;

namespace {

/// Says the sum of all its sequence's tokens so far, modulo 64; throws for token 13.
class SummingRunner : public CachedRunner {
public:
  SummingRunner() : CachedRunner(8, cacheOptions()) {}
  RunnerFacts facts() const override { return {64, 64, 16, 4, {}}; }
  void run(std::span<const PlannedRow> rows) override {
    for (const PlannedRow &row : rows)
      if (row.token == 13)
        fail(ErrorCode::Internal, "token 13 was run");
    beginStep();
    for (const PlannedRow &row : rows) {
      if (kv().position(row.slot) == 0)
        sums[row.slot] = 0;
      sums[row.slot] += row.token;
      finishRow(row, size_t(sums[row.slot] % 64));
    }
  }

private:
  static KvCacheOptions cacheOptions() {
    KvCacheOptions options;
    options.sequences = 2;
    options.context = 64;
    options.maxRows = 16;
    return options;
  }
  int sums[2] = {};
};

class EngineFailures : public testing::Test {
protected:
  EngineFailures() {
    options.sequences = 2;
    options.prefixes = false;
    engine = std::make_unique<Engine>([] { return std::make_unique<SummingRunner>(); }, options);
  }
  std::shared_ptr<RecordingSink> submit(std::vector<int32_t> prompt,
                                        std::function<TokenVerdict(size_t)> onToken = nullptr,
                                        bool throwAtEnd = false) {
    auto sink = std::make_shared<RecordingSink>();
    sink->onToken = std::move(onToken);
    sink->throwAtEnd = throwAtEnd;
    CompletionRequest request;
    request.prompt = std::move(prompt);
    request.maxTokens = 3;
    engine->submit(request, sink);
    return sink;
  }
  void expectAlive() {
    auto sink = submit({1, 2});
    EXPECT_EQ(sink->wait().end, CompletionEnd::Length);
    EXPECT_EQ(sink->tokens(), (std::vector<int32_t>{3, 6, 12}));
    EXPECT_EQ(engine->metrics().kvHeldBytes, 0u);
  }
  EngineOptions options;
  std::unique_ptr<Engine> engine;
};

} // namespace

TEST_F(EngineFailures, aStepThatThrowsEndsItsRequestsOnly) {
  auto sink = submit({13});
  CompletionResult result = sink->wait();
  EXPECT_EQ(result.end, CompletionEnd::Error);
  EXPECT_EQ(result.error, "token 13 was run");
  EXPECT_EQ(engine->metrics().failed, 1u);
  expectAlive();
}

TEST_F(EngineFailures, aSinkThatThrowsEndsItsRequestOnly) {
  auto sink = submit({1}, [](size_t) -> TokenVerdict { throw std::runtime_error("no more"); });
  CompletionResult result = sink->wait();
  EXPECT_EQ(result.end, CompletionEnd::Error);
  EXPECT_EQ(result.error, "no more");
  expectAlive();
  submit({1}, nullptr, true)->wait();
  expectAlive();
}

TEST_F(EngineFailures, anUnknownForcedTokenEndsItsRequestOnly) {
  auto sink = submit({1}, [](size_t) { return TokenVerdict{false, {64}}; });
  EXPECT_EQ(sink->wait().end, CompletionEnd::Error);
  expectAlive();
}

TEST_F(EngineFailures, whatTheRunnerCannotOpenIsThrownByTheConstructor) {
  EXPECT_THROW(
      Engine([]() -> std::unique_ptr<StepRunner> { fail(ErrorCode::Machine, "small"); }, options),
      Error);
  options.sequences = 0;
  EXPECT_THROW(Engine([] { return std::make_unique<SummingRunner>(); }, options), Error);
}
