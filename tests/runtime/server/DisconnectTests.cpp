// A client that leaves stops costing compute within a step, whenever it leaves.
#include <gtest/gtest.h>

#include <random>

#include "tests/runtime/server/TestServer.h"

namespace inf::test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds soon{2'000}; ///< far more than a step, far less than the script

json endless(bool stream) {
  return {{"model", "tiny"}, {"prompt", "a"}, {"max_tokens", 400}, {"stream", stream}};
}

/// A script that would take many seconds.
void scriptSlow(TestServer &server, milliseconds prefill = milliseconds(0)) {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += " word";
  server.script(text, {.perToken = milliseconds(50), .prefill = prefill});
}

bool waitForRequests(TestServer &server, size_t count) {
  for (int i = 0; i < 1000 && server.service.requests().size() < count; ++i)
    std::this_thread::sleep_for(milliseconds(2));
  return server.service.requests().size() >= count;
}

TEST(Disconnect, DuringAStreamCancels) {
  TestServer server;
  scriptSlow(server);
  HttpClient client(server.port());
  client.request("POST", "/v1/completions", endless(true).dump());
  ASSERT_TRUE(client.readUntil("data: "));
  client.close();
  EXPECT_TRUE(server.service.idleWithin(soon));
  EXPECT_EQ(server.service.metrics().cancelled, 1u);
}

TEST(Disconnect, BeforeAnyByteOfAWholeAnswerCancels) {
  TestServer server;
  scriptSlow(server);
  HttpClient client(server.port());
  client.request("POST", "/v1/completions", endless(false).dump());
  ASSERT_TRUE(waitForRequests(server, 1));
  client.close();
  EXPECT_TRUE(server.service.idleWithin(soon));
  EXPECT_EQ(server.service.metrics().cancelled, 1u);
}

TEST(Disconnect, DuringPrefillCancels) {
  TestServer server;
  scriptSlow(server, milliseconds(30'000));
  for (bool stream : {false, true}) {
    HttpClient client(server.port());
    client.request("POST", "/v1/completions", endless(stream).dump());
    ASSERT_TRUE(waitForRequests(server, stream ? 2 : 1));
    client.close();
    EXPECT_TRUE(server.service.idleWithin(soon));
  }
  EXPECT_EQ(server.service.tokensMade(), 0u);
}

TEST(Disconnect, WithAResetCancels) {
  TestServer server;
  scriptSlow(server);
  HttpClient client(server.port());
  client.request("POST", "/v1/completions", endless(true).dump());
  ASSERT_TRUE(client.readUntil("data: "));
  client.close(true);
  EXPECT_TRUE(server.service.idleWithin(soon));
}

TEST(Disconnect, AHalfClosedClientCountsAsGone) {
  TestServer server;
  scriptSlow(server);
  HttpClient client(server.port());
  client.request("POST", "/v1/completions", endless(false).dump());
  ASSERT_TRUE(waitForRequests(server, 1));
  client.halfClose();
  EXPECT_TRUE(server.service.idleWithin(soon));
}

TEST(Disconnect, AllChoicesOfTheRequestEnd) {
  TestServer server;
  scriptSlow(server);
  json body = endless(true);
  body["n"] = 5;
  HttpClient client(server.port());
  client.request("POST", "/v1/completions", body.dump());
  ASSERT_TRUE(client.readUntil("data: "));
  client.close();
  EXPECT_TRUE(server.service.idleWithin(soon));
  EXPECT_EQ(server.service.metrics().cancelled, 5u);
}

TEST(Disconnect, AnotherClientsStreamGoesOnUnchanged) {
  TestServer server;
  std::string text;
  for (int i = 0; i < 60; ++i)
    text += " word" + std::to_string(i);
  server.script(text + "<|return|>", {.perToken = milliseconds(2)});
  HttpClient stays(server.port());
  stays.request("POST", "/v1/completions", endless(true).dump());
  for (int i = 0; i < 10; ++i) {
    HttpClient leaves(server.port());
    leaves.request("POST", "/v1/completions", endless(true).dump());
    leaves.readUntil("data: ");
    leaves.close(i % 2 == 0);
  }
  std::string joined;
  for (const std::string &event : eventsOf(stays.response().body))
    if (event != "[DONE]")
      joined += json::parse(event)["choices"][0]["text"];
  EXPECT_EQ(joined, text);
}

TEST(Disconnect, AtFiveHundredRandomMomentsLeavesNothingBehind) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  TestServer server;
  server.script("one two three four five six<|return|>",
                {.perToken = milliseconds(1), .prefill = milliseconds(2)});
  const std::string body = endless(true).dump();
  const std::string request = "POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Type: "
                              "application/json\r\nContent-Length: " +
                              std::to_string(body.size()) + "\r\n\r\n" + body;
  for (int i = 0; i < 500; ++i) {
    HttpClient client(server.port());
    const size_t bytes = random() % 2 ? request.size() : random() % request.size();
    client.trySend(std::string_view(request).substr(0, bytes));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 6000));
    client.close(random() % 2 == 0);
  }
  EXPECT_TRUE(server.service.idleWithin(milliseconds(1'000)));
  for (int i = 0; i < 500 && server.http->counters().open > 0; ++i)
    std::this_thread::sleep_for(milliseconds(2));
  EXPECT_EQ(server.http->counters().open, 0u);
  EXPECT_EQ(server.post("/v1/completions", endless(false)).status, 200u);
}

} // namespace
} // namespace inf::test
