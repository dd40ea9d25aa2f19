// What is said of a request before, or instead of, answering it; and bursts to those who read.
#include <gtest/gtest.h>

#include "tests/runtime/server/Requests.h"

namespace inf::test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

ClientResponse answerTo(TestServer &server, const std::string &bytes) {
  HttpClient client(server.port());
  client.trySend(bytes);
  ClientResponse response = client.response();
  if (response.status >= 400) {
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(client.some(), "");
    EXPECT_LT(std::chrono::steady_clock::now() - began, milliseconds(1'500))
        << "the connection ends";
  }
  return response;
}

TEST(Framing, ATransferEncodingOtherThanChunkedIs400) { // it would be ignored: request smuggling
  TestServer server;
  const std::string begin = "POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Type: "
                            "application/json\r\n";
  for (const char *fields :
       {"Transfer-Encoding: gzip\r\n", "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked, gzip\r\n", "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
        "Content-Length: 2\r\nContent-Length: 3\r\n"})
    EXPECT_EQ(answerTo(server, begin + fields + "\r\n{}").status, 400u) << fields;
  EXPECT_EQ(answerTo(server, "POST /v1/completions HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n")
                .status,
            400u);
  EXPECT_TRUE(server.service.requests().empty());
}

TEST(Framing, EveryRequestHasOneHost) {
  TestServer server;
  EXPECT_EQ(answerTo(server, "GET /v1/models HTTP/1.1\r\n\r\n").status, 400u);
  EXPECT_EQ(answerTo(server, "GET /v1/models HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n").status, 400u);
  EXPECT_EQ(answerTo(server, "GET /v1/models HTTP/1.0\r\n\r\n").status, 200u);
}

TEST(Framing, UnreadableRequestsHaveAnIdAndMayBeReadByPages) {
  TestServerOptions options;
  options.api.corsOrigins = {"https://a.example"};
  options.http.bodyBytes = 1000;
  options.http.bodyTimeout = milliseconds(100);
  TestServer server(options);
  const std::string begin = "POST /v1/completions HTTP/1.1\r\nHost: t\r\nOrigin: "
                            "https://a.example\r\nContent-Type: application/json\r\n";
  for (const auto &[rest, status] : {std::pair("Content-Length: 10\r\n\r\n{", 408u),
                                     std::pair("Transfer-Encoding: chunked\r\n\r\nfffff\r\n", 413u),
                                     std::pair("Transfer-Encoding: gzip\r\n\r\n", 400u)}) {
    const ClientResponse response = answerTo(server, begin + rest);
    EXPECT_EQ(response.status, status) << rest;
    EXPECT_EQ(response.field("x-request-id").size(), 16u);
    EXPECT_EQ(response.field("Access-Control-Allow-Origin"), "https://a.example");
  }
  EXPECT_EQ(answerTo(server, "hello\r\n\r\n").field("x-request-id").size(), 16u);
  ASSERT_GE(server.log().size(), 4u);
  EXPECT_EQ(server.log()[0].path, "/v1/completions");
  EXPECT_NE(server.log()[0].id, server.log()[1].id);
}

TEST(Framing, WhoMayNotAskIsToldBeforeTheBodyIsRead) {
  TestServerOptions options;
  options.api.keys = {"secret"};
  TestServer server(options);
  const std::string length = "Content-Length: 16000000\r\n\r\n"; // and nothing follows
  const std::string key = "Authorization: Bearer secret\r\n";
  const auto post = [&](const std::string &path, const std::string &fields) {
    return answerTo(server, "POST " + path + " HTTP/1.1\r\nHost: t\r\n" + fields + length);
  };
  const ClientResponse noKey = post("/v1/completions", "Content-Type: application/json\r\n");
  EXPECT_EQ(noKey.status, 401u);
  EXPECT_EQ(noKey.field("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(noKey.field("x-request-id").size(), 16u);
  EXPECT_EQ(post("/v1/nowhere", key).status, 404u);
  EXPECT_EQ(post("/v1/models", key).status, 405u);
  EXPECT_EQ(post("/v1/completions", key + "Content-Type: text/plain\r\n").status, 415u);
  EXPECT_EQ(post("/health", "").status, 405u);
  // Nor does a client that asks first have to send it.
  EXPECT_EQ(post("/v1/completions", "Expect: 100-continue\r\n").status, 401u);
  server.api->startDraining();
  EXPECT_EQ(post("/v1/completions", key + "Content-Type: application/json\r\n").status, 503u);
}

TEST(Framing, BodiesOfAllConnectionsTogetherAreBounded) {
  TestServerOptions options;
  options.http.allBodiesBytes = 100'000;
  TestServer server(options);
  const std::string head = "POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Type: "
                           "application/json\r\nContent-Length: 80000\r\n\r\n";
  HttpClient holder(server.port());
  holder.send(head + std::string(60'000, ' '));   // and waits
  std::this_thread::sleep_for(milliseconds(300)); // until the holder's part has been read
  const std::string body =
      plainRequest.dump() + std::string(80'000 - plainRequest.dump().size(), ' ');
  const std::string refused = answerTo(server, head + body).body;
  ASSERT_NE(refused, "");
  EXPECT_EQ(json::parse(refused)["error"]["code"], "overloaded");
  EXPECT_EQ(server.post("/v1/completions", plainRequest).status, 200u) << "small ones go on";
  holder.close();
  unsigned status = 0;
  for (int i = 0; i < 500 && status != 200; ++i) { // what it held is given back
    status = answerTo(server, head + body).status;
    std::this_thread::sleep_for(milliseconds(2));
  }
  EXPECT_EQ(status, 200u);
  for (int i = 0; i < 5; ++i) // and what was answered is too
    EXPECT_EQ(answerTo(server, head + body).status, 200u);
}

TEST(Framing, APageOfAnotherNameThatLeadsHereIsRefused) { // DNS rebinding
  TestServerOptions options;
  options.api.allowedHosts = {"localhost", "models.example"};
  options.api.corsOrigins = {"https://ui.example"};
  TestServer server(options);
  const auto status = [&](const std::string &host, const std::string &fields) {
    HttpClient client(server.port());
    client.send("GET /v1/models HTTP/1.1\r\nHost: " + host + "\r\n" + fields + "\r\n");
    return client.response().status;
  };
  const std::string page = "Origin: http://evil.example\r\n";
  EXPECT_EQ(status("evil.example", page), 403u);
  EXPECT_EQ(status("evil.example:8000", "Sec-Fetch-Site: same-origin\r\n"), 403u);
  EXPECT_EQ(status("127.evil.example", page), 403u);
  EXPECT_EQ(status("LOCALHOST:8000", page), 200u);
  EXPECT_EQ(status("models.example", page), 200u);
  EXPECT_EQ(status("127.0.0.1:8000", page), 200u);
  EXPECT_EQ(status("[::1]:8000", page), 200u);
  EXPECT_EQ(status("proxy.example", "Origin: https://ui.example\r\n"), 200u);
  EXPECT_EQ(status("proxy.example", ""), 200u) << "a program behind a proxy is no page";
}

TEST(Burst, AnEventAboveTheStreamsLimitReachesAFastReader) {
  TestServerOptions options;
  options.http.streamBytes = 10'000;
  TestServer server(options);
  std::string prompt;
  for (int i = 0; i < 400; ++i)
    prompt += " word";
  server.script(" one two three<|return|>", {.perToken = milliseconds(5)});
  const ClientResponse response = server.post("/v1/completions", {{"model", "tiny"},
                                                                  {"prompt", prompt},
                                                                  {"echo", true},
                                                                  {"logprobs", 2},
                                                                  {"n", 3},
                                                                  {"stream", true}});
  EXPECT_GT(response.body.size(), 30'000u);
  EXPECT_EQ(eventsOf(response.body).back(), "[DONE]");
  EXPECT_EQ(server.http->counters().slowReaders, 0u);
}

TEST(Burst, AResponsesEndRepeatsALongAnswerToAFastReader) {
  TestServerOptions options;
  options.http.streamBytes = 2'000;
  options.limits.context = options.limits.capacity = 4096;
  TestServer server(options);
  std::string text;
  for (int i = 0; i < 2'000; ++i)
    text += " word";
  server.script(text + "<|return|>");
  const ClientResponse response =
      server.post("/v1/responses", {{"model", "tiny"}, {"input", "a"}, {"stream", true}});
  EXPECT_EQ(json::parse(eventsOf(response.body).back())["type"], "response.completed");
  EXPECT_EQ(server.http->counters().slowReaders, 0u);
}

TEST(Burst, AReaderSlowerThanTheModelIsCutOffInTime) {
  TestServerOptions options;
  options.http.streamBytes = 20'000;
  options.http.streamPatience = milliseconds(50);
  options.limits.context = options.limits.capacity = 1 << 20;
  TestServer server(options);
  std::string text;
  for (int i = 0; i < 60'000; ++i)
    text += " word";
  server.script(text);
  HttpClient client(server.port(), 4096);
  json body = plainRequest;
  body.update({{"stream", true}, {"max_tokens", 500'000}, {"n", 4}});
  client.request("POST", "/v1/completions", body.dump());
  while (server.service.requests().empty())
    std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(server.service.idleWithin(milliseconds(60'000)));
  EXPECT_EQ(server.http->counters().slowReaders, 1u);
  EXPECT_EQ(server.service.metrics().cancelled, 4u);
}

} // namespace
} // namespace inf::test
