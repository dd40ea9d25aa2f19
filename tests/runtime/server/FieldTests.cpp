// Fields that were dropped, misread or not bounded; limits that were said but not kept.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/runtime/server/Requests.h"

namespace inf::test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr const char *chatPath = "/v1/chat/completions";

std::string warningOf(const ClientResponse &answer) {
  EXPECT_EQ(answer.status, 200u) << answer.body;
  return answer.field("x-inf-warning");
}

TEST(Fields, WhatDoesNothingIsNamed) {
  TestServer server;
  json named = chatRequest();
  named["messages"][0]["name"] = "Ann";
  named["messages"].push_back({{"role", "assistant"}, {"content", "x"}, {"refusal", "no"}});
  named["messages"].push_back({{"role", "user"}, {"content", "y"}, {"name", "Ann"}});
  EXPECT_EQ(warningOf(server.post(chatPath, named)),
            "messages[].name is ignored; messages[].refusal is ignored");
  EXPECT_EQ(warningOf(server.post(
                chatPath, chatRequest({{"stream", true},
                                       {"stream_options", {{"include_obfuscation", true}}}}))),
            "stream_options.include_obfuscation is ignored");
  const json items = {
      {{"type", "reasoning"}, {"summary", {{{"text", "x"}}}}, {"encrypted_content", "abc"}},
      {{"role", "user"}, {"content", "y"}, {"id", "msg_1"}, {"status", "completed"}}};
  EXPECT_EQ(warningOf(server.post("/v1/responses", responseRequest({{"input", items}}))),
            "input[].summary is ignored; input[].encrypted_content is ignored");
}

TEST(Fields, WhatWouldChangeTheAnswerIsRefused) {
  TestServer server;
  const std::pair<const char *, json> asked[] = {
      {chatPath, chatRequest({{"skip_special_tokens", false}})},
      {"/v1/responses", responseRequest({{"skip_special_tokens", false}})},
      {"/v1/responses", responseRequest({{"return_token_ids", true}})},
      {"/v1/responses", responseRequest({{"include", {"file_search_call.results"}}})}};
  for (const auto &[path, body] : asked) {
    const ClientResponse refused = server.post(path, body);
    EXPECT_EQ(refused.status, 400u) << body;
    EXPECT_EQ(json::parse(refused.body)["error"]["code"], "unsupported_parameter") << body;
  }
}

TEST(Fields, ReasoningMayComeUnderBothNames) {
  TestServer server;
  json body = chatRequest();
  body["messages"].push_back(
      {{"role", "assistant"}, {"content", "x"}, {"reasoning_content", "hm"}, {"reasoning", "hm"}});
  EXPECT_EQ(server.post(chatPath, body).status, 200u);
  body["messages"][1]["reasoning"] = "other";
  EXPECT_EQ(server.post(chatPath, body).status, 400u) << "which one is meant?";
  body["messages"][1].erase("reasoning_content");
  EXPECT_EQ(server.post(chatPath, body).status, 200u);
}

TEST(Fields, AToolsAnswerWithTheNameOfAnotherCallIsRefused) {
  TestServer server;
  json body = chatRequest();
  body["messages"] = json::parse(R"([{"role": "user", "content": "w?"},
    {"role": "assistant", "content": null, "tool_calls": [
      {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "rain"}])");
  EXPECT_EQ(server.post(chatPath, body).status, 200u);
  body["messages"][2]["name"] = "g";
  EXPECT_EQ(server.post(chatPath, body).status, 400u);
}

TEST(Fields, LongFieldsAreNotRepeatedInEveryEvent) {
  TestServer server;
  const std::string longText(100'000, 'x');
  const json tools = {{{"type", "function"}, {"name", "f"}, {"description", longText}}};
  const ClientResponse answer =
      server.post("/v1/responses",
                  responseRequest({{"tools", tools}, {"tool_choice", "none"}, {"stream", true}}));
  EXPECT_EQ(warningOf(answer), "tools is too long to be repeated in the response");
  EXPECT_LT(answer.body.size(), 50'000u);
  EXPECT_EQ(server.post("/v1/responses", responseRequest({{"metadata", {{"a", longText}}}})).status,
            400u);
  EXPECT_EQ(json::parse(server.post("/v1/responses", responseRequest({{"metadata", {{"a", "b"}}}}))
                            .body)["metadata"]["a"],
            "b");
}

TEST(Fields, ResponsesHaveLogprobsWhenTheyAreIncluded) {
  TestServer server;
  server.script("<|channel|>hm<|message|>one two 日本<|return|>");
  const json with =
      responseRequest({{"include", {"message.output_text.logprobs"}}, {"top_logprobs", 2}});
  const json whole = server.json("/v1/responses", with);
  const json &logprobs = whole["output"][1]["content"][0]["logprobs"];
  std::string bytes;
  for (const json &token : logprobs) {
    EXPECT_EQ(token["logprob"], -0.25);
    EXPECT_EQ(token["top_logprobs"].size(), 2u);
    for (int byte : token["bytes"])
      bytes += char(byte);
  }
  EXPECT_EQ(bytes, "one two 日本");
  EXPECT_EQ(whole["top_logprobs"], 2);
  json streaming = with;
  streaming["stream"] = true;
  json streamed = json::array();
  for (const std::string &text : eventsOf(server.post("/v1/responses", streaming).body)) {
    const json event = json::parse(text);
    if (event["type"] == "response.output_text.delta")
      streamed.insert(streamed.end(), event["logprobs"].begin(), event["logprobs"].end());
    if (event["type"] == "response.output_text.done") {
      EXPECT_EQ(event["logprobs"], logprobs);
    }
  }
  EXPECT_EQ(streamed, logprobs);
  EXPECT_TRUE(server.json("/v1/responses", responseRequest())["output"][1]["content"][0]["logprobs"]
                  .empty());
  EXPECT_EQ(server.post("/v1/responses", responseRequest({{"top_logprobs", 2}})).status, 400u);
}

TEST(Limits, MemoryForFewerTokensThanTheContextIsSaidAndKept) {
  TestServerOptions options;
  options.limits.capacity = 100; // of a context of 512
  TestServer server(options);
  EXPECT_EQ(json::parse(server.get("/v1/models").body)["data"][0]["max_model_len"], 100);
  std::string prompt;
  for (int i = 0; i < 150; ++i)
    prompt += " word";
  const ClientResponse refused =
      server.post("/v1/completions", {{"model", "tiny"}, {"prompt", prompt}});
  EXPECT_EQ(refused.status, 400u);
  EXPECT_NE(refused.body.find("100"), std::string::npos) << refused.body;
  server.json("/v1/completions", {{"model", "tiny"}, {"prompt", "a"}, {"max_tokens", 400}});
  EXPECT_LT(server.service.requests().at(0).maxTokens, 100u);
  json items = json::array();
  for (int i = 0; i < 40; ++i)
    items.push_back({{"role", "user"}, {"content", "question number " + std::to_string(i)}});
  server.json("/v1/responses", responseRequest({{"input", items}, {"truncation", "auto"}}));
  EXPECT_LE(server.service.requests().at(1).prompt.size(), 50u);
  EXPECT_NE(promptText(server, 1).find("number 39"), std::string::npos);
}

TEST(Truncation, ALongHistoryIsNotRenderedAgainAndAgain) {
  TestServer server;
  json items = json::array();
  for (int i = 0; i < 400; ++i) {
    items.push_back({{"role", "user"}, {"content", fmt::format("q{}", i)}});
    items.push_back({{"role", "assistant"}, {"content", std::string(10'000, 'a') + " b c"}});
  }
  items.push_back({{"role", "user"}, {"content", "the last one"}});
  const json answer =
      server.json("/v1/responses", responseRequest({{"input", items}, {"truncation", "auto"}}));
  EXPECT_EQ(answer["dropped_messages"], 800);
  EXPECT_NE(promptText(server).find("the last one"), std::string::npos);
  EXPECT_LT(server.format.renderedBytes(), 200'000u) << "4 MB each time";
}

TEST(Deadline, CountsFromTheRequestsArrival) {
  TestServerOptions options;
  options.api.deadline = milliseconds(300);
  TestServer server(options);
  server.json("/v1/completions", {{"model", "tiny"}, {"prompt", "a"}});
  EXPECT_LE(server.service.requests().at(0).deadline, milliseconds(300));
  // The reading thread is busy for longer than that: those behind have waited all their time.
  server.format.delay = milliseconds(400);
  HttpClient first(server.port()), second(server.port());
  first.request("POST", chatPath, chatRequest().dump());
  while (server.format.rendered() == 0)
    std::this_thread::sleep_for(milliseconds(1));
  second.request("POST", "/v1/completions", R"({"model": "tiny", "prompt": "a"})");
  const ClientResponse late = second.response();
  EXPECT_EQ(late.status, 504u) << late.body;
  EXPECT_EQ(json::parse(late.body)["error"]["code"], "deadline_exceeded");
  first.response();
  EXPECT_EQ(server.service.requests().size(), 2u) << "it cost no compute";
  EXPECT_EQ(server.service.requests().at(1).deadline, milliseconds(0));
}

TEST(Metrics, RefusalsOfTheReadersQueueCount) {
  TestServerOptions options;
  options.api.waitingRequests = 1;
  TestServer server(options);
  server.format.delay = milliseconds(300);
  HttpClient first(server.port()), second(server.port());
  first.request("POST", chatPath, chatRequest().dump());
  while (server.format.rendered() == 0)
    std::this_thread::sleep_for(milliseconds(1));
  second.request("POST", chatPath, chatRequest().dump());
  ClientResponse third;
  for (int i = 0; i < 200 && third.status != 429; ++i) // once the second one waits
    third = server.post("/v1/completions", {{"model", "other"}, {"prompt", "a"}});
  EXPECT_EQ(third.status, 429u);
  const std::string metrics = server.get("/metrics").body;
  EXPECT_NE(metrics.find("inf:requests_refused_full_total{model_name=\"tiny\"} 1\n"),
            std::string::npos)
      << metrics;
  first.response();
  second.response();
}

TEST(Log, OneThatFailsOrBlocksStopsNobody) {
  TestServerOptions options;
  std::atomic<bool> block{true};
  options.api.log = [&](const RequestRecord &record) {
    while (record.path == "/health/live" && block)
      std::this_thread::sleep_for(milliseconds(1));
    throw std::runtime_error("the disk is full");
  };
  TestServer server(options);
  EXPECT_EQ(server.post("/v1/completions", {{"model", "tiny"}, {"prompt", "a"}}).status, 200u);
  EXPECT_EQ(server.get("/v1/nowhere").status, 404u);
  std::thread other([&] { // the log of another thread than that of input and output
    server.api->unreadable(400, "test", {"GET", "/health/live", "", {}, "", nullptr});
  });
  const auto logged = [&] {
    const std::vector<RequestRecord> all = server.log();
    return std::any_of(all.begin(), all.end(),
                       [](const RequestRecord &one) { return one.path == "/health/live"; });
  };
  while (!logged())
    std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(server.get("/metrics").status, 200u) << "neither ids nor counters wait for it";
  block = false;
  other.join();
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(server.get("/v1/models").status, 200u);
}

} // namespace
} // namespace inf::test
