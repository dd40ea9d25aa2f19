// The API over the real engine: what clients that leave, and limits of time, do to its places.
#include <gtest/gtest.h>

#include <malloc.h>

#include <random>

#include "runtime/engine/Engine.h"
#include "tests/runtime/engine/CachedRunner.h"
#include "tests/runtime/server/TestServer.h"

namespace inf::test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds stepTime{5};
constexpr uint32_t context = 2048;

/// Says the same word for ever, a step at a time.
class SlowRunner : public CachedRunner {
public:
  SlowRunner() : CachedRunner(16, cacheOptions()), word(*smallTokenizer().idOf("a")) {}
  RunnerFacts facts() const override {
    return {uint32_t(smallTokenizer().vocabularySize()), context, 64, 8, {}};
  }
  void run(std::span<const PlannedRow> rows) override {
    std::this_thread::sleep_for(stepTime);
    beginStep();
    for (const PlannedRow &row : rows)
      finishRow(row, size_t(word));
  }

private:
  static KvCacheOptions cacheOptions() {
    KvCacheOptions options;
    options.sequences = 4;
    options.context = context;
    options.maxRows = 64;
    options.prefixes = true;
    return options;
  }
  const int32_t word;
};

class ServedEngine : public testing::Test {
protected:
  void open(milliseconds deadline = milliseconds(0)) {
    EngineOptions options;
    options.sequences = 4;
    options.queue = 8;
    engine.emplace([] { return std::make_unique<SlowRunner>(); }, options);
    ApiOptions apiOptions;
    apiOptions.deadline = deadline;
    api.emplace(ServedModel{"slow", "b17d", 1700000000, smallTokenizer(), nullptr, *engine},
                apiOptions);
    HttpServerOptions httpOptions;
    httpOptions.port = 0;
    http.emplace(httpOptions, *api);
  }
  ~ServedEngine() override {
    http->stop(milliseconds(0));
    engine->drain(milliseconds(0));
  }
  static json body(bool stream, int tokens = 2000) {
    return {{"model", "slow"},
            {"prompt", "once upon a time"},
            {"max_tokens", tokens},
            {"temperature", 0},
            {"stream", stream}};
  }
  uint32_t active() const {
    const ServiceMetrics now = engine->metrics();
    return now.running + now.waiting;
  }
  milliseconds untilIdle() const {
    const auto began = Clock::now();
    while (active() > 0 && Clock::now() - began < std::chrono::seconds(10))
      std::this_thread::sleep_for(milliseconds(1));
    return std::chrono::duration_cast<milliseconds>(Clock::now() - began);
  }

  std::optional<Engine> engine;
  std::optional<ApiServer> api;
  std::optional<HttpServer> http;
};

TEST_F(ServedEngine, aClientThatLeftHasFreedItsPlaceWithin200ms) {
  open();
  uint64_t cancelled = 0;
  for (bool stream : {true, false}) {
    HttpClient client(http->port());
    client.request("POST", "/v1/completions", body(stream).dump());
    if (stream) {
      ASSERT_TRUE(client.readUntil("data: "));
    } else {
      while (engine->metrics().running == 0)
        std::this_thread::sleep_for(milliseconds(1));
    }
    client.close();
    EXPECT_LE(untilIdle(), milliseconds(200)) << "stream " << stream;
    EXPECT_EQ(engine->metrics().cancelled, ++cancelled);
    EXPECT_EQ(engine->metrics().kvHeldBytes, 0u);
  }
}

TEST_F(ServedEngine, aRequestEndsAtItsDeadlineAndFreesItsPlace) {
  open(milliseconds(300));
  for (bool stream : {false, true}) {
    const auto began = Clock::now();
    const ClientResponse response =
        ask(http->port(), "POST", "/v1/completions", body(stream).dump());
    const auto took = Clock::now() - began;
    EXPECT_GE(took, milliseconds(290));
    EXPECT_LE(took, milliseconds(600));
    EXPECT_EQ(response.status, stream ? 200u : 504u);
    EXPECT_NE(response.body.find("deadline_exceeded"), std::string::npos);
    EXPECT_LE(untilIdle(), milliseconds(200));
  }
  EXPECT_EQ(engine->metrics().expired, 2u);
  EXPECT_EQ(ask(http->port(), "POST", "/v1/completions", body(false, 3).dump()).status, 200u);
}

TEST_F(ServedEngine, fiveHundredThatLeaveAtRandomLeaveNeitherRequestsNorMemory) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  open();
  const std::string text = body(true).dump();
  const std::string request = "POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Type: "
                              "application/json\r\nContent-Length: " +
                              std::to_string(text.size()) + "\r\n\r\n" + text;
  size_t before = 0;
  for (int i = 0; i < 500; ++i) {
    if (i == 100) { // all that is made once has been made
      EXPECT_LE(untilIdle(), milliseconds(1'000));
      before = mallinfo2().uordblks;
    }
    HttpClient client(http->port());
    const size_t bytes = random() % 4 ? request.size() : random() % request.size();
    client.trySend(std::string_view(request).substr(0, bytes));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 8'000));
    client.close(random() % 2 == 0);
  }
  EXPECT_LE(untilIdle(), milliseconds(1'000));
  EXPECT_EQ(engine->metrics().kvHeldBytes, 0u);
  for (int i = 0; i < 500 && http->counters().open > 0; ++i)
    std::this_thread::sleep_for(milliseconds(2));
  EXPECT_EQ(http->counters().open, 0u);
  EXPECT_LE(mallinfo2().uordblks, before + (1 << 20)) << "bytes in use";
}

} // namespace
} // namespace inf::test
