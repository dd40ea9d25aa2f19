// HTTP itself, over real sockets: what clients do wrong, slowly, or all at once.
#include <gtest/gtest.h>

#include "tests/runtime/server/Requests.h"

namespace inf::test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

TEST(Socket, AConnectionIsUsedAgain) {
  TestServer server;
  HttpClient client(server.port());
  for (int i = 0; i < 3; ++i) {
    client.request("POST", "/v1/completions", plainRequest.dump());
    EXPECT_EQ(client.response().status, 200u);
  }
  EXPECT_EQ(server.http->counters().accepted, 1u);
}

TEST(Socket, AStreamLeavesItsConnectionUsable) {
  TestServer server;
  HttpClient client(server.port());
  json body = plainRequest;
  body["stream"] = true;
  for (int i = 0; i < 3; ++i) {
    client.request("POST", "/v1/completions", body.dump());
    EXPECT_EQ(eventsOf(client.response().body).back(), "[DONE]");
  }
  EXPECT_EQ(server.http->counters().accepted, 1u);
}

TEST(Socket, PipelinedRequestsAreAnsweredInOrder) {
  TestServer server;
  server.service.setAuthor([&](const CompletionRequest &request) {
    return Script{server.format.ids(std::to_string(request.sampling.seed) + "<|return|>"),
                  CompletionEnd::Stop, milliseconds(10 - 2 * int(request.sampling.seed))};
  });
  HttpClient client(server.port());
  std::string all;
  for (int i = 0; i < 5; ++i) {
    json body = plainRequest;
    body["seed"] = i;
    const std::string text = body.dump();
    all += "POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
           "Content-Length: " +
           std::to_string(text.size()) + "\r\n\r\n" + text;
  }
  client.send(all);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(json::parse(client.response().body)["choices"][0]["text"], std::to_string(i));
}

TEST(Socket, ARequestMayComeByteByByte) {
  TestServer server;
  HttpClient client(server.port());
  const std::string body = plainRequest.dump();
  const std::string request = "POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Type: "
                              "application/json\r\nContent-Length: " +
                              std::to_string(body.size()) + "\r\n\r\n" + body;
  for (char c : request)
    client.send(std::string_view(&c, 1));
  EXPECT_EQ(client.response().status, 200u);
}

TEST(Socket, AChunkedBodyIsRead) {
  TestServer server;
  HttpClient client(server.port());
  const std::string body = plainRequest.dump();
  client.send("POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
              "Transfer-Encoding: chunked\r\n\r\n");
  client.send(formatChunk(body.substr(0, 7)) + formatChunk(body.substr(7)) +
              std::string(lastChunk));
  EXPECT_EQ(client.response().status, 200u);
}

TEST(Socket, AClientThatExpectsContinueGetsIt) {
  TestServer server;
  HttpClient client(server.port());
  const std::string body = plainRequest.dump();
  client.send("POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
              "Expect: 100-continue\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n\r\n");
  ASSERT_TRUE(client.readUntil("100 Continue\r\n\r\n"));
  client.send(body);
  EXPECT_EQ(client.response().status, 200u);
}

TEST(Socket, AnOldClientGetsAStreamThatEndsWithTheConnection) {
  TestServer server;
  HttpClient client(server.port());
  json body = plainRequest;
  body["stream"] = true;
  const std::string text = body.dump();
  client.send("POST /v1/completions HTTP/1.0\r\nContent-Type: application/json\r\n"
              "Content-Length: " +
              std::to_string(text.size()) + "\r\n\r\n" + text);
  const ClientResponse response = client.response();
  EXPECT_EQ(response.field("Transfer-Encoding"), "");
  EXPECT_EQ(eventsOf(response.body).back(), "[DONE]");
}

/// Status of what comes back for these bytes.
unsigned statusFor(TestServer &server, const std::string &bytes) {
  HttpClient client(server.port());
  client.trySend(bytes);
  const ClientResponse response = client.response();
  if (response.status >= 400) {
    EXPECT_TRUE(json::accept(response.body)) << response.body;
    EXPECT_EQ(client.some(), "") << "the connection ends";
  }
  return response.status;
}

TEST(Socket, WhatIsNoHttpIs400) {
  TestServer server;
  EXPECT_EQ(statusFor(server, "hello\r\n\r\n"), 400u);
  EXPECT_EQ(statusFor(server, "GET / HTTP/9.9\r\n\r\n"), 400u);
  EXPECT_EQ(statusFor(server, "POST /v1/completions HTTP/1.1\r\nContent-Length: x\r\n\r\n"), 400u);
  EXPECT_EQ(server.get("/health").status, 200u);
}

TEST(Socket, TwoWaysToEndABodyAreRefused) { // request smuggling
  TestServer server;
  EXPECT_EQ(statusFor(server, "POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n"
                              "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            400u);
}

TEST(Socket, AHeaderBombIs431) {
  TestServer server;
  EXPECT_EQ(statusFor(server, "GET /health HTTP/1.1\r\nX: " + std::string(1 << 20, 'a')), 431u);
  std::string many = "GET /health HTTP/1.1\r\n";
  for (int i = 0; i < 100'000; ++i)
    many += "X-" + std::to_string(i) + ": a\r\n";
  EXPECT_EQ(statusFor(server, many), 431u);
  EXPECT_EQ(server.get("/health").status, 200u);
}

TEST(Socket, ABodyBeyondTheLimitIs413WhetherAnnouncedOrNot) {
  TestServerOptions options;
  options.http.bodyBytes = 1000;
  TestServer server(options);
  EXPECT_EQ(statusFor(server, "POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Length: "
                              "100000000000\r\n\r\n"),
            413u);
  EXPECT_EQ(statusFor(server, "POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Type: "
                              "application/json\r\nTransfer-Encoding: chunked\r\n\r\n" +
                                  formatChunk(std::string(2000, 'a'))),
            413u);
}

TEST(Socket, AHeaderThatTakesTooLongIs408) {
  TestServerOptions options;
  options.http.headerTimeout = milliseconds(100);
  TestServer server(options);
  EXPECT_EQ(statusFor(server, "GET /health HTT"), 408u);
}

TEST(Socket, ABodyThatTakesTooLongIs408) {
  TestServerOptions options;
  options.http.bodyTimeout = milliseconds(100);
  TestServer server(options);
  EXPECT_EQ(statusFor(server, "POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Type: "
                              "application/json\r\nContent-Length: 10\r\n\r\n{"),
            408u);
}

TEST(Socket, AnIdleConnectionIsClosedQuietly) {
  TestServerOptions options;
  options.http.idleTimeout = milliseconds(100);
  TestServer server(options);
  HttpClient silent(server.port());
  EXPECT_EQ(silent.some(), "");
  HttpClient once(server.port());
  once.request("GET", "/health");
  EXPECT_EQ(once.response().status, 200u);
  EXPECT_EQ(once.some(), "");
}

TEST(Socket, OneConnectionTooManyIs503) {
  TestServerOptions options;
  options.http.connections = 2;
  TestServer server(options);
  HttpClient first(server.port()), second(server.port());
  first.request("GET", "/health");
  second.request("GET", "/health");
  EXPECT_EQ(first.response().status, 200u);
  EXPECT_EQ(second.response().status, 200u);
  HttpClient third(server.port());
  const ClientResponse response = third.response();
  EXPECT_EQ(response.status, 503u);
  EXPECT_EQ(response.field("Retry-After"), "1");
  first.request("GET", "/health"); // the others are not disturbed
  EXPECT_EQ(first.response().status, 200u);
}

TEST(Socket, AReaderThatNeverReadsIsCutOffAtTheQueueLimitAndCancelled) {
  TestServerOptions options;
  options.http.streamBytes = options.http.streamMostBytes = 20'000;
  options.limits.context = options.limits.capacity = 1 << 20;
  TestServer server(options);
  std::string text;
  for (int i = 0; i < 60'000; ++i)
    text += " word";
  server.script(text);
  HttpClient client(server.port(), 4096);
  json body = plainRequest;
  body["stream"] = true;
  body["max_tokens"] = 500'000;
  client.request("POST", "/v1/completions", body.dump());
  while (server.service.requests().empty())
    std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(server.service.idleWithin(milliseconds(60'000)));
  EXPECT_EQ(server.http->counters().slowReaders, 1u);
  EXPECT_LT(server.service.tokensMade(), 60'000u) << "it ended early";
}

/// An ordinary token of as many bytes as any.
int32_t longestToken() {
  const Tokenizer &tokenizer = smallTokenizer();
  int32_t longest = 0;
  for (int32_t id = 0; id < tokenizer.vocabularySize(); ++id)
    if (!tokenizer.isSpecial(id) &&
        tokenizer.tokenBytes(id).size() > tokenizer.tokenBytes(longest).size())
      longest = id;
  return longest;
}

TEST(Socket, AReaderThatStopsReadingIsCutOffInTime) {
  TestServerOptions options;
  options.http.writeTimeout = milliseconds(200);
  TestServer server(options);
  const int32_t id = longestToken();
  const size_t bytes = 12 << 20; // more than the system's buffers hold
  const size_t count = bytes / smallTokenizer().tokenBytes(id).size();
  ASSERT_LT(count * (std::to_string(id).size() + 1), options.http.bodyBytes);
  json body;
  body["tokens"] = std::vector<int32_t>(count, id);
  HttpClient client(server.port(), 4096);
  client.request("POST", "/detokenize", body.dump());
  for (int i = 0; i < 30'000 && server.http->counters().open > 0; ++i)
    std::this_thread::sleep_for(milliseconds(2));
  EXPECT_EQ(server.http->counters().slowReaders, 1u);
  for (int i = 0; i < 1'000 && server.log().empty(); ++i)
    std::this_thread::sleep_for(milliseconds(2));
  ASSERT_EQ(server.log().size(), 1u);
  EXPECT_EQ(server.log()[0].status, 200u);
}

TEST(Socket, AClientThatPipelinesWithoutEndIsNotReadWithoutEnd) {
  TestServer server;
  server.script("one", {.prefill = milliseconds(1'000)});
  HttpClient client(server.port());
  client.request("POST", "/v1/completions", plainRequest.dump());
  const std::string flood(64 << 20, 'x');
  std::thread sender([&] { client.trySend(flood); });
  EXPECT_EQ(client.response().status, 200u);
  EXPECT_EQ(client.response().status, 431u); // what lies behind is no request
  client.halfClose();
  sender.join();
}

} // namespace
} // namespace inf::test
