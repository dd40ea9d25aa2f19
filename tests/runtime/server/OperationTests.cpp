// Keys, web pages, health, metrics, logs, and the end.
#include <gtest/gtest.h>

#include "tests/runtime/server/Requests.h"

namespace inf::test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

TEST(Keys, OnlyTheirHoldersMayAsk) {
  TestServerOptions options;
  options.api.keys = {"secret-one", "two"};
  TestServer server(options);
  EXPECT_EQ(server.get("/v1/models").status, 401u);
  EXPECT_EQ(server.get("/metrics").status, 401u);
  for (const char *wrong : {"secret", "secret-onee", "secret-twoo", "t", ""})
    EXPECT_EQ(
        server.get("/v1/models", std::string("Authorization: Bearer ") + wrong + "\r\n").status,
        401u)
        << wrong;
  EXPECT_EQ(server.get("/v1/models", "Authorization: Bearer secret-one\r\n").status, 200u);
  EXPECT_EQ(server.get("/v1/models", "authorization: bearer two\r\n").status, 200u);
  EXPECT_EQ(server.get("/health").status, 200u) << "whoever watches has no key";
  const ClientResponse refused = server.get("/v1/models");
  EXPECT_EQ(json::parse(refused.body)["error"]["type"], "authentication_error");
  EXPECT_EQ(refused.field("WWW-Authenticate"), "Bearer");
}

TEST(Keys, PrefixesAreSharedWithinAKeyOnly) {
  TestServerOptions options;
  options.api.keys = {"one", "two"};
  TestServer server(options);
  server.post("/v1/completions", plainRequest, "Authorization: Bearer one\r\n");
  server.post("/v1/completions", plainRequest, "Authorization: Bearer two\r\n");
  const std::vector<CompletionRequest> asked = server.service.requests();
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_NE(asked[0].tenant, asked[1].tenant);
}

TEST(Cors, OnlyPagesOfTheListMayRead) {
  TestServerOptions options;
  options.api.corsOrigins = {"https://a.example"};
  TestServer server(options);
  const ClientResponse allowed = server.get("/v1/models", "Origin: https://a.example\r\n");
  EXPECT_EQ(allowed.field("Access-Control-Allow-Origin"), "https://a.example");
  EXPECT_EQ(server.get("/v1/models", "Origin: https://b.example\r\n")
                .field("Access-Control-Allow-Origin"),
            "");
  const ClientResponse before =
      ask(server.port(), "OPTIONS", "/v1/models", "",
          "Origin: https://a.example\r\nAccess-Control-Request-Method: POST\r\n"
          "Access-Control-Request-Headers: authorization, content-type\r\n");
  EXPECT_EQ(before.status, 204u);
  EXPECT_EQ(before.field("Access-Control-Allow-Headers"), "authorization, content-type");
  EXPECT_EQ(before.field("Access-Control-Allow-Origin"), "https://a.example");
}

TEST(Health, ReadyEndsWithDrainingAndLiveDoesNot) {
  TestServer server;
  EXPECT_EQ(server.get("/health/ready").status, 200u);
  server.api->startDraining();
  EXPECT_EQ(server.get("/health/ready").status, 503u);
  EXPECT_EQ(server.get("/health").status, 503u);
  EXPECT_EQ(server.get("/health/live").status, 200u);
  const ClientResponse refused = server.post("/v1/completions", plainRequest);
  EXPECT_EQ(refused.status, 503u);
  EXPECT_EQ(json::parse(refused.body)["error"]["code"], "shutting_down");
  EXPECT_EQ(refused.field("Retry-After"), "1");
}

TEST(Drain, AnswersThatRunAreFinished) {
  TestServer server;
  server.script("one two three<|return|>", {.perToken = milliseconds(20)});
  HttpClient client(server.port());
  client.request("POST", "/v1/completions", plainRequest.dump());
  while (server.service.requests().empty())
    std::this_thread::sleep_for(milliseconds(1));
  server.api->startDraining();
  server.service.drain(milliseconds(10'000));
  server.http->stop(milliseconds(5'000));
  const ClientResponse response = client.response();
  EXPECT_EQ(response.status, 200u);
  EXPECT_EQ(json::parse(response.body)["choices"][0]["text"], "one two three");
  EXPECT_EQ(client.some(), "");
}

TEST(Drain, AnswersThatTakeLongerThanTheGraceEndWithAnError) {
  TestServer server;
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += " word";
  server.script(text, {.perToken = milliseconds(20)});
  json streaming = plainRequest;
  streaming["stream"] = true;
  HttpClient whole(server.port()), stream(server.port());
  whole.request("POST", "/v1/completions", plainRequest.dump());
  stream.request("POST", "/v1/completions", streaming.dump());
  ASSERT_TRUE(stream.readUntil("data: "));
  while (server.service.requests().size() < 2)
    std::this_thread::sleep_for(milliseconds(1));
  server.api->startDraining();
  server.service.drain(milliseconds(50));
  server.http->stop(milliseconds(5'000));
  EXPECT_EQ(whole.response().status, 503u);
  EXPECT_TRUE(stream.readUntil("event: error"));
}

TEST(Metrics, CountWhatHappened) {
  TestServer server;
  server.json("/v1/completions", plainRequest);
  server.get("/nowhere/at/all");
  ClientResponse response = server.get("/metrics");
  EXPECT_EQ(response.status, 200u);
  EXPECT_EQ(response.field("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  const auto has = [&](const std::string &line) {
    return response.body.find("\n" + line + "\n") != std::string::npos;
  };
  const std::string ended =
      "vllm:request_success_total{model_name=\"tiny\",finished_reason=\"stop\"} 1";
  // An answer may reach its reader before its end is counted.
  for (int i = 0; i < 1000 && !has(ended); ++i) {
    std::this_thread::sleep_for(milliseconds(1));
    response = server.get("/metrics");
  }
  EXPECT_TRUE(has(ended)) << response.body;
  const size_t tokens = server.format.ids("ok<|return|>").size();
  EXPECT_TRUE(has("vllm:generation_tokens_total{model_name=\"tiny\"} " + std::to_string(tokens)));
  EXPECT_TRUE(has("inf:http_requests_total{model_name=\"tiny\",path=\"/v1/completions\","
                  "status=\"200\"} 1"));
  EXPECT_TRUE(has("inf:http_requests_total{model_name=\"tiny\",path=\"other\",status=\"404\"} 1"));
}

TEST(Log, SaysWhatWasAskedButNotWhatWasSaid) {
  TestServer server;
  server.json("/v1/completions", plainRequest);
  for (int i = 0; i < 1000 && server.log().empty(); ++i)
    std::this_thread::sleep_for(milliseconds(1));
  ASSERT_EQ(server.log().size(), 1u);
  const RequestRecord record = server.log()[0];
  EXPECT_EQ(record.path, "/v1/completions");
  EXPECT_EQ(record.status, 200u);
  EXPECT_EQ(record.generatedTokens, server.format.ids("ok<|return|>").size());
  EXPECT_FALSE(record.clientLeft);
}

TEST(Log, AClientThatLeftIsMarked) {
  TestServer server;
  server.script("one two three", {.prefill = milliseconds(30'000)});
  HttpClient client(server.port());
  client.request("POST", "/v1/completions", plainRequest.dump());
  while (server.service.requests().empty())
    std::this_thread::sleep_for(milliseconds(1));
  client.close();
  ASSERT_TRUE(server.service.idleWithin(milliseconds(2'000)));
  for (int i = 0; i < 1000 && server.log().empty(); ++i)
    std::this_thread::sleep_for(milliseconds(1));
  ASSERT_EQ(server.log().size(), 1u);
  EXPECT_TRUE(server.log()[0].clientLeft);
  EXPECT_EQ(server.log()[0].status, 0u);
}

} // namespace
} // namespace inf::test
