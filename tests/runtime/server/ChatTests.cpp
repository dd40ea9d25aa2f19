// /v1/chat/completions, whole and as a stream.
#include <gtest/gtest.h>

#include "tests/runtime/server/Requests.h"

namespace inf::test {
namespace {

using nlohmann::json;

const json weatherTool = {
    {"type", "function"},
    {"function",
     {{"name", "get_weather"}, {"parameters", {{"type", "object"}, {"properties", {}}}}}}};

/// What a client makes of a stream: its deltas joined.
struct Joined {
  std::string content, reasoning, finish;
  std::vector<json> calls;
  std::vector<json> chunks;
};

Joined joinedOf(const ClientResponse &response) {
  Joined joined;
  std::vector<std::string> events = eventsOf(response.body);
  EXPECT_FALSE(events.empty());
  EXPECT_EQ(events.empty() ? "" : events.back(), "[DONE]");
  for (const std::string &event : events) {
    if (event == "[DONE]")
      continue;
    joined.chunks.push_back(json::parse(event));
    for (const json &choice : joined.chunks.back()["choices"]) {
      const json &delta = choice["delta"];
      joined.content += delta.value("content", "");
      joined.reasoning += delta.value("reasoning_content", "");
      for (const json &call : delta.value("tool_calls", json::array())) {
        if (call["index"] == joined.calls.size())
          joined.calls.push_back(call);
        else
          joined.calls.at(call["index"])["function"]["arguments"] =
              joined.calls.at(call["index"])["function"]["arguments"].get<std::string>() +
              call["function"]["arguments"].get<std::string>();
      }
      if (choice["finish_reason"].is_string())
        joined.finish = choice["finish_reason"];
    }
  }
  return joined;
}

TEST(Chat, ReasoningAndContentAreApartAndWithoutMarkers) {
  TestServer server;
  server.script("<|channel|>let me think<|message|>four 日本<|return|>");
  const json answer = server.json("/v1/chat/completions", chatRequest());
  const json &message = answer["choices"][0]["message"];
  EXPECT_EQ(message["content"], "four 日本");
  EXPECT_EQ(message["reasoning_content"], "let me think");
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
  EXPECT_GT(answer["usage"]["completion_tokens_details"]["reasoning_tokens"], 0);
  EXPECT_LT(answer["usage"]["completion_tokens_details"]["reasoning_tokens"],
            answer["usage"]["completion_tokens"]);
}

TEST(Chat, StreamJoinedEqualsWhole) {
  TestServer server;
  server.script("<|channel|>hm 🙂<|message|>yes 日本<|return|>");
  const json whole = server.json("/v1/chat/completions", chatRequest());
  const Joined joined =
      joinedOf(server.post("/v1/chat/completions", chatRequest({{"stream", true}})));
  EXPECT_EQ(joined.content, whole["choices"][0]["message"]["content"]);
  EXPECT_EQ(joined.reasoning, whole["choices"][0]["message"]["reasoning_content"]);
  EXPECT_EQ(joined.finish, "stop");
  EXPECT_EQ(joined.chunks.at(0)["choices"][0]["delta"]["role"], "assistant");
}

TEST(Chat, ACallIsReturnedWithItsNameAndArguments) {
  TestServer server;
  server.script("<|constrain|>get_weather\n{\"city\": \"Oslo\"}<|call|>");
  const json answer =
      server.json("/v1/chat/completions", chatRequest({{"tools", json::array({weatherTool})}}));
  const json &choice = answer["choices"][0];
  ASSERT_EQ(choice["message"]["tool_calls"].size(), 1u);
  EXPECT_EQ(choice["message"]["tool_calls"][0]["function"]["name"], "get_weather");
  EXPECT_EQ(choice["message"]["tool_calls"][0]["function"]["arguments"], "{\"city\": \"Oslo\"}");
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  EXPECT_TRUE(choice["message"]["content"].is_null());
}

TEST(Chat, AStreamedCallBeginsWithIdAndNameAndEmptyArguments) {
  TestServer server;
  server.script("<|constrain|>get_weather\n{\"city\": \"Oslo\"}<|call|>");
  const Joined joined =
      joinedOf(server.post("/v1/chat/completions",
                           chatRequest({{"stream", true}, {"tools", json::array({weatherTool})}})));
  ASSERT_EQ(joined.calls.size(), 1u);
  EXPECT_EQ(json::parse(joined.calls[0]["function"]["arguments"].get<std::string>())["city"],
            "Oslo");
  EXPECT_EQ(joined.finish, "tool_calls");
  const json &first = joined.chunks.at(1)["choices"][0]["delta"]["tool_calls"][0];
  EXPECT_EQ(first["id"], "call_0");
  EXPECT_EQ(first["function"]["name"], "get_weather");
  EXPECT_EQ(first["function"]["arguments"], "");
}

TEST(Chat, BrokenArgumentsAreReturnedAsTheyAre) {
  TestServer server;
  server.script("<|constrain|>get_weather\n{\"city\": \"Oslo\"<|call|>");
  const json answer =
      server.json("/v1/chat/completions", chatRequest({{"tools", json::array({weatherTool})}}));
  EXPECT_EQ(answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"],
            "{\"city\": \"Oslo\"");
}

TEST(Chat, WithoutParallelCallsTheAnswerEndsBeforeTheSecond) {
  TestServer server;
  const char *two = "<|constrain|>a\n{}<|constrain|>b\n{}<|constrain|>c\n{}<|call|>";
  server.script(two);
  const json tools = {{"tools", json::array({weatherTool})}};
  const json all = server.json("/v1/chat/completions", chatRequest(tools));
  EXPECT_EQ(all["choices"][0]["message"]["tool_calls"].size(), 3u);
  json one = chatRequest(tools);
  one["parallel_tool_calls"] = false;
  const json cut = server.json("/v1/chat/completions", one);
  EXPECT_EQ(cut["choices"][0]["message"]["tool_calls"].size(), 1u);
  EXPECT_EQ(cut["choices"][0]["finish_reason"], "tool_calls");
  EXPECT_LT(cut["usage"]["completion_tokens"], all["usage"]["completion_tokens"]);
}

TEST(Chat, ToolChoiceReachesTheFormat) {
  TestServer server;
  const json tools = json::array({weatherTool});
  for (const json &choice : {json("none"), json("auto"), json("required"),
                             json{{"type", "function"}, {"function", {{"name", "get_weather"}}}}}) {
    TestServer fresh;
    fresh.json("/v1/chat/completions", chatRequest({{"tools", tools}, {"tool_choice", choice}}));
    const std::string prompt = promptText(fresh);
    EXPECT_EQ(prompt.find("tool get_weather") != std::string::npos, choice != "none") << prompt;
    EXPECT_EQ(prompt.find("require []") != std::string::npos, choice == "required") << prompt;
    EXPECT_EQ(prompt.find("require [get_weather]") != std::string::npos, choice.is_object());
  }
}

TEST(Chat, AToolsAnswerGetsTheNameOfItsCall) {
  TestServer server;
  json body = chatRequest();
  body["messages"] = json::parse(R"([
    {"role": "system", "content": [{"type": "text", "text": "be "}, {"type": "text", "text": "brief"}]},
    {"role": "user", "content": "w?"},
    {"role": "assistant", "content": null, "reasoning_content": "hm",
     "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "rain<|end|>"}])");
  server.json("/v1/chat/completions", body);
  EXPECT_EQ(promptText(server),
            "effort 1;system:be brief;user:w?;assistant: call c1 f {};tool:rain<|end|> of c1 f;");
  const std::vector<int32_t> prompt = server.service.requests().at(0).prompt;
  for (int32_t id : prompt)
    EXPECT_FALSE(smallTokenizer().isSpecial(id));
}

TEST(Chat, StopStringsStopContentButNotReasoning) {
  TestServer server;
  server.script("<|channel|>END is near<|message|>it is the END of it<|return|>");
  const json body = chatRequest({{"stop", "END"}});
  const json answer = server.json("/v1/chat/completions", body);
  EXPECT_EQ(answer["choices"][0]["message"]["reasoning_content"], "END is near");
  EXPECT_EQ(answer["choices"][0]["message"]["content"], "it is the ");
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
}

TEST(Chat, LogprobsListTheTokensOfTheContent) {
  TestServer server;
  server.script("<|channel|>think<|message|>four and 日本<|return|>");
  const json answer =
      server.json("/v1/chat/completions", chatRequest({{"logprobs", true}, {"top_logprobs", 2}}));
  std::string bytes;
  for (const json &token : answer["choices"][0]["logprobs"]["content"]) {
    EXPECT_EQ(token["logprob"], -0.25);
    EXPECT_EQ(token["top_logprobs"].size(), 2u);
    for (int byte : token["bytes"])
      bytes += char(byte);
  }
  EXPECT_EQ(bytes, "four and 日本");
}

TEST(Chat, AReasoningBudgetForcesTheWayOut) {
  TestServer server;
  server.script("<|channel|>one two three four five six<|return|>");
  const json answer = server.json("/v1/chat/completions", chatRequest({{"reasoning_budget", 3}}));
  // The script's rest comes behind the forced tokens: it is content now.
  EXPECT_LE(answer["usage"]["completion_tokens_details"]["reasoning_tokens"], 5);
  EXPECT_NE(answer["choices"][0]["message"]["content"], "");
  EXPECT_EQ(answer["choices"][0]["message"]["reasoning_content"].get<std::string>() +
                answer["choices"][0]["message"]["content"].get<std::string>(),
            "one two three four five six");
}

TEST(Chat, LengthIsSaidWhenTokensRanOut) {
  TestServer server;
  server.script("<|channel|>one two three four five six<|return|>");
  const json answer = server.json("/v1/chat/completions", chatRequest({{"max_tokens", 3}}));
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(answer["usage"]["completion_tokens"], 3);
}

TEST(Chat, ChoicesOfAStreamAreApart) {
  TestServer server;
  server.service.setAuthor([&](const CompletionRequest &request) {
    return Script{
        server.format.ids("choice " + std::to_string(request.sampling.seed) + "<|return|>")};
  });
  const ClientResponse response =
      server.post("/v1/chat/completions", chatRequest({{"stream", true}, {"n", 3}, {"seed", 0}}));
  std::string texts[3];
  int finishes = 0;
  for (const std::string &event : eventsOf(response.body))
    if (event != "[DONE]") {
      const json chunk = json::parse(event);
      for (const json &choice : chunk["choices"]) {
        texts[choice["index"].get<int>()] += choice["delta"].value("content", "");
        finishes += choice["finish_reason"].is_string() ? 1 : 0;
      }
    }
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(texts[i], "choice " + std::to_string(i));
  EXPECT_EQ(finishes, 3);
}

TEST(Chat, WhatIsIgnoredIsSaid) {
  TestServer server;
  const ClientResponse response =
      server.post("/v1/chat/completions",
                  chatRequest({{"user", "me"}, {"store", true}, {"metadata", {{"a", "b"}}}}));
  EXPECT_EQ(response.status, 200u) << response.body;
  EXPECT_EQ(response.field("x-inf-warning"),
            "user is ignored; store is ignored; metadata is ignored");
}

} // namespace
} // namespace inf::test
