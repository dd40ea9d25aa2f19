// The engine over the fake model, whose right answers are known.
#include <atomic>
#include <ctime>

#include <thread>

#include <gtest/gtest.h>

#include "tests/runtime/engine/EngineFixture.h"

using namespace inf;
using namespace inf::test;

namespace {

class EngineOfFakeModel : public EngineFixture {
protected:
  EngineOfFakeModel() : EngineFixture(4) {}

  struct Running {
    uint64_t id;
    std::shared_ptr<RecordingSink> sink;
  };
  Running submit(CompletionRequest request, std::function<TokenVerdict(size_t)> onToken = nullptr) {
    auto sink = std::make_shared<RecordingSink>();
    sink->onToken = std::move(onToken);
    return {engine->submit(std::move(request), sink), sink};
  }
  /// Greedy, computed without a session.
  std::vector<int32_t> expected(const CompletionRequest &request, size_t count) const {
    std::vector<int32_t> tokens = request.prompt;
    for (size_t i = 0; i < count; ++i) {
      std::vector<float> logits = expectedLogits(*model, tokens);
      tokens.push_back(int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin()));
    }
    return {tokens.end() - std::ptrdiff_t(count), tokens.end()};
  }
  RefusalReason refusalOf(CompletionRequest request) {
    try {
      submit(std::move(request));
    } catch (const Refusal &refusal) {
      return refusal.reason;
    }
    ADD_FAILURE() << "it was not refused";
    return RefusalReason::Invalid;
  }
  void expectNothingHeld() {
    ServiceMetrics now = engine->metrics();
    EXPECT_EQ(now.kvHeldBytes, 0u);
    EXPECT_EQ(now.running + now.waiting, 0u);
  }
};

} // namespace

TEST_F(EngineOfFakeModel, requestsBesideEachOtherGetWhatTheModelSays) {
  for (bool prefixes : {true, false})
    for (unsigned threads : {1u, 2u}) {
      options.prefixes = prefixes;
      options.threads.threads = threads;
      open();
      std::vector<Running> running;
      for (size_t i = 0; i < 10; ++i)
        running.push_back(submit(request(3 + 13 * i, i, 20)));
      for (size_t i = 0; i < 10; ++i) {
        EXPECT_EQ(running[i].sink->wait().end, CompletionEnd::Length);
        EXPECT_EQ(running[i].sink->tokens(), expected(request(3 + 13 * i, i, 20), 20)) << i;
      }
      expectNothingHeld();
    }
}

TEST_F(EngineOfFakeModel, preemptionsDoNotShow) {
  for (bool prefixes : {true, false}) {
    options.prefixes = prefixes;
    // Of a full block 2 KiB, of a window's 2 KiB: about one and a half sequences.
    options.kvBytes = 40 << 10;
    options.sequences = 4;
    options.stepTokens = 16;
    options.growthTokens = 0;
    open();
    std::vector<Running> running;
    for (size_t i = 0; i < 8; ++i)
      running.push_back(submit(request(30 + i, i, 150)));
    for (size_t i = 0; i < 8; ++i) {
      CompletionResult result = running[i].sink->wait();
      ASSERT_EQ(result.end, CompletionEnd::Length) << result.error;
      EXPECT_EQ(running[i].sink->tokens(),
                expected(request(30 + i, i, 150), result.generatedTokens))
          << i;
    }
    EXPECT_GT(engine->metrics().preemptions, 0u);
    expectNothingHeld();
  }
}

TEST_F(EngineOfFakeModel, aPromptSeenBeforeIsNotComputedAgain) {
  open();
  submit(request(200, 1, 1)).sink->wait();
  Running again = submit(request(200, 1, 3));
  EXPECT_EQ(again.sink->wait().cachedTokens, 199u);
  EXPECT_EQ(again.sink->tokens(), expected(request(200, 1, 3), 3));
  EXPECT_EQ(engine->metrics().cachedTokens, 199u);
  CompletionRequest other = request(200, 1, 3);
  other.tenant = 7;
  EXPECT_EQ(submit(other).sink->wait().cachedTokens, 0u) << "not of another tenant";
}

TEST_F(EngineOfFakeModel, whatCannotRunIsRefusedAtOnce) {
  options.kvBytes = 30 << 10;
  open();
  EXPECT_EQ(refusalOf(request(257, 1, 1)), RefusalReason::TooLong);
  EXPECT_EQ(refusalOf(request(256, 1, 1)), RefusalReason::TooLong) << "beyond all KV memory";
  EXPECT_EQ(refusalOf(request(0, 1, 1)), RefusalReason::Invalid);
  CompletionRequest unknown = request(3, 1, 1);
  unknown.prompt[1] = FAKE_VOCABULARY;
  EXPECT_EQ(refusalOf(unknown), RefusalReason::Invalid);
  CompletionRequest badSampling = request(3, 1, 1);
  badSampling.sampling.topP = 0;
  EXPECT_EQ(refusalOf(badSampling), RefusalReason::Invalid);
  CompletionRequest badBias = request(3, 1, 1);
  badBias.sampling.logitBias = {{FAKE_VOCABULARY, 1}};
  EXPECT_EQ(refusalOf(badBias), RefusalReason::Invalid);
  EXPECT_EQ(engine->metrics().steps, 0u) << "nothing was computed";
}

TEST_F(EngineOfFakeModel, aFullQueueRefusesAtOnce) {
  options.sequences = 1;
  options.queue = 1;
  open();
  Running first = submit(request(3, 1, 10000)), second = submit(request(3, 2, 1));
  EXPECT_EQ(refusalOf(request(3, 3, 1)), RefusalReason::Busy);
  EXPECT_EQ(engine->metrics().refusedFull, 1u);
  engine->cancel(first.id);
  EXPECT_EQ(second.sink->wait().end, CompletionEnd::Length);
}

TEST_F(EngineOfFakeModel, aRequestCountsAsRunningBeforeItsFirstTokenIsHeardOf) {
  open();
  std::atomic<uint32_t> seen = 0;
  submit(request(3, 1, 1), [&](size_t) {
    seen = engine->metrics().running;
    return TokenVerdict{};
  }).sink->wait();
  EXPECT_EQ(seen, 1u);
}

TEST_F(EngineOfFakeModel, aCancelledRequestEndsAndItsSlotServesTheNext) {
  options.sequences = 1;
  options.context = 4096;
  open();
  Running running = submit(request(3, 1, 4000)), waiting = submit(request(3, 2, 4000));
  running.sink->waitForTokens(1);
  engine->cancel(waiting.id);
  engine->cancel(running.id);
  engine->cancel(running.id);
  engine->cancel(12345);
  EXPECT_EQ(waiting.sink->wait().end, CompletionEnd::Cancelled);
  EXPECT_EQ(running.sink->wait().end, CompletionEnd::Cancelled);
  EXPECT_EQ(engine->metrics().cancelled, 2u);
  expectNothingHeld();
  EXPECT_EQ(submit(request(3, 3, 2)).sink->wait().end, CompletionEnd::Length);
}

TEST_F(EngineOfFakeModel, aThousandCancelsAtAnyPhaseLeaveNothingBehind) {
  options.context = 1024;
  open();
  for (uint64_t i = 0; i < 1000; ++i) {
    Running running = submit(request(1 + i * 37 % 900, i, 50));
    if (i % 3 == 0)
      running.sink->waitForTokens(i % 5);
    engine->cancel(running.id);
    running.sink->wait();
    EXPECT_EQ(running.sink->timesFinished(), 1u);
  }
  expectNothingHeld();
}

TEST_F(EngineOfFakeModel, aDeadlineEndsARequestInItsPromptAndInItsAnswer) {
  options.context = 4096;
  options.stepTokens = 4;
  open();
  CompletionRequest late = request(4000, 1, 4000);
  late.deadline = std::chrono::milliseconds(1);
  CompletionResult inPrompt = submit(late).sink->wait();
  EXPECT_EQ(inPrompt.end, CompletionEnd::Deadline);
  EXPECT_EQ(inPrompt.generatedTokens, 0u);
  CompletionRequest answer = request(3, 1, 4000);
  answer.deadline = std::chrono::milliseconds(5);
  Running running = submit(answer, [](size_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return TokenVerdict{};
  });
  EXPECT_EQ(running.sink->wait().end, CompletionEnd::Deadline);
  EXPECT_EQ(engine->metrics().expired, 2u);
}

TEST_F(EngineOfFakeModel, stopTokensEndTheAnswerAndAreItsLast) {
  open();
  CompletionRequest stopping = request(5, 4, 50);
  std::vector<int32_t> all = expected(stopping, 50);
  stopping.stopTokens = {all[7]};
  size_t at = size_t(std::find(all.begin(), all.end(), all[7]) - all.begin());
  Running running = submit(stopping);
  EXPECT_EQ(running.sink->wait().end, CompletionEnd::Stop);
  EXPECT_EQ(running.sink->tokens().size(), at + 1);
  EXPECT_TRUE(running.sink->events().back().stop);
}

TEST_F(EngineOfFakeModel, aSinkEndsItsRequestAndForcesTokens) {
  open();
  Running running = submit(request(5, 4, 50), [](size_t index) {
    TokenVerdict verdict;
    if (index == 2)
      verdict.force = {11, 12};
    verdict.finish = index == 6;
    return verdict;
  });
  EXPECT_EQ(running.sink->wait().end, CompletionEnd::Sink);
  std::vector<int32_t> tokens = running.sink->tokens();
  ASSERT_EQ(tokens.size(), 7u);
  EXPECT_EQ(tokens[3], 11);
  EXPECT_EQ(tokens[4], 12);
  EXPECT_TRUE(running.sink->events()[3].forced && running.sink->events()[4].forced);
  EXPECT_FALSE(running.sink->events()[5].forced);
  CompletionRequest longer = request(5, 4, 1);
  longer.prompt.insert(longer.prompt.end(), tokens.begin(), tokens.begin() + 5);
  EXPECT_EQ(tokens[5], expected(longer, 1)[0]) << "the model has seen the forced ones";
}

TEST_F(EngineOfFakeModel, logprobsAreOfTheRawLogits) {
  open();
  CompletionRequest asking = request(20, 5, 3);
  asking.logprobs = 4;
  asking.promptLogprobs = true;
  submit(request(20, 5, 1)).sink->wait(); // even with the prompt in the cache
  Running running = submit(asking);
  running.sink->wait();
  ASSERT_EQ(running.sink->promptEvents().size(), 19u);
  for (size_t i = 0; i < 19; ++i) {
    std::vector<float> logits = expectedLogits(*model, std::span(asking.prompt).first(i + 1));
    double sum = 0;
    for (float logit : logits)
      sum += std::exp(double(logit));
    RecordingSink::Event event = running.sink->promptEvents()[i];
    EXPECT_EQ(event.id, asking.prompt[i + 1]);
    EXPECT_NEAR(event.logprob, double(logits[size_t(event.id)]) - std::log(sum), 1e-9);
  }
  for (const RecordingSink::Event &event : running.sink->events()) {
    ASSERT_EQ(event.top.size(), 4u);
    EXPECT_EQ(event.top[0].id, event.id) << "greedy takes the likeliest";
    EXPECT_EQ(event.top[0].logprob, event.logprob);
    EXPECT_GE(event.top[0].logprob, event.top[3].logprob);
  }
}

TEST_F(EngineOfFakeModel, anAnswerEndsWhereTheContextDoes) {
  options.context = 32;
  open();
  Running running = submit(request(30, 1, 100));
  EXPECT_EQ(running.sink->wait().end, CompletionEnd::Length);
  EXPECT_EQ(running.sink->tokens().size(), 3u) << "two are held, the last needs no place";
  EXPECT_EQ(submit(request(3, 1, 0)).sink->wait().generatedTokens, 0u);
}

TEST_F(EngineOfFakeModel, drainLetsRequestsFinishThenCancelsAndRefusesNewOnes) {
  options.context = 4096;
  open();
  Running brief = submit(request(3, 1, 2));
  Running endless = submit(request(3, 2, 4000), [](size_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return TokenVerdict{};
  });
  engine->drain(std::chrono::milliseconds(300));
  EXPECT_EQ(brief.sink->wait().end, CompletionEnd::Length);
  EXPECT_EQ(endless.sink->wait().end, CompletionEnd::Cancelled);
  EXPECT_EQ(refusalOf(request(3, 1, 1)), RefusalReason::Closing);
}

/// Whoever drains takes apart what sinks refer to.
TEST_F(EngineOfFakeModel, drainReturnsWhenSinksHaveHeardAndAreGone) {
  struct Slow : CompletionSink {
    explicit Slow(std::atomic<int> &hold) : held(hold) { ++held; }
    ~Slow() override {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      --held;
    }
    TokenVerdict token(const TokenEvent &) override { return {}; }
    void finished(const CompletionResult &) override {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    std::atomic<int> &held;
  };
  for (int cancelled = 0; cancelled < 2; ++cancelled) {
    std::atomic<int> held{0};
    open();
    for (uint64_t i = 0; i < 2; ++i)
      engine->submit(request(3, i, cancelled ? 200 : 1), std::make_shared<Slow>(held));
    engine->drain(std::chrono::milliseconds(cancelled ? 0 : 10'000));
    EXPECT_EQ(held, 0);
  }
}

TEST_F(EngineOfFakeModel, idleTakesNoCpu) {
  options.threads.threads = 2;
  open();
  submit(request(50, 1, 5)).sink->wait();
  std::this_thread::sleep_for(std::chrono::milliseconds(50)); // threads fall asleep
  std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  double seconds = double(std::clock() - before) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 0.1) << "a thread that spins takes 0.3 s";
}

TEST_F(EngineOfFakeModel, manyThreadsSubmitAndCancel) {
  options.queue = 100;
  open();
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 20; ++i) {
        Running running = submit(request(1 + i, t * 100 + i, 10));
        if (i % 4 == t)
          engine->cancel(running.id);
        engine->metrics();
        CompletionResult result = running.sink->wait();
        if (result.end != CompletionEnd::Cancelled) {
          EXPECT_EQ(running.sink->tokens(), expected(request(1 + i, t * 100 + i, 10), 10));
        }
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  expectNothingHeld();
}

TEST_F(EngineOfFakeModel, threadsFollowTheMemoryOnlyWhenAskedToAndNoTokenDoes) {
  options.threads.threads = options.threads.capacity = 2;
  for (bool follow : {false, true}) {
    options.threadsFollowMemory = follow;
    open();
    EXPECT_FALSE(engine->decodeThreads()) << "nothing was decoded yet";
    CompletionRequest one = request(20, 3, 200);
    Running running = submit(one);
    running.sink->wait();
    EXPECT_EQ(running.sink->tokens(), expected(one, 200));
    const std::optional<StepThreadsReport> found = engine->decodeThreads();
    ASSERT_EQ(found.has_value(), follow);
    EXPECT_EQ(engine->metrics().decodeThreads, follow ? found->threads : 0u);
    if (follow) {
      EXPECT_EQ(found->all, 2u);
      EXPECT_EQ(found->steps, 199u);
    }
  }
}
