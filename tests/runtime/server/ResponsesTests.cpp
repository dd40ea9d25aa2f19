// /v1/responses, whole and as a stream.
#include <gtest/gtest.h>

#include "tests/runtime/server/Requests.h"

namespace inf::test {
namespace {

using nlohmann::json;

TEST(Responses, ItemsComeInTheOrderGenerated) {
  TestServer server;
  server.script("<|channel|>hm<|message|>Let me see.<|constrain|>f\n{\"a\": 1}<|call|>");
  const json answer = server.json("/v1/responses", responseRequest({{"max_output_tokens", 100}}));
  EXPECT_EQ(answer["object"], "response");
  EXPECT_EQ(answer["status"], "completed");
  const json &output = answer["output"];
  ASSERT_EQ(output.size(), 3u);
  EXPECT_EQ(output[0]["type"], "reasoning");
  EXPECT_EQ(output[0]["content"][0]["text"], "hm");
  EXPECT_EQ(output[1]["type"], "message");
  EXPECT_EQ(output[1]["content"][0]["text"], "Let me see.");
  EXPECT_EQ(output[2]["type"], "function_call");
  EXPECT_EQ(output[2]["name"], "f");
  EXPECT_EQ(output[2]["arguments"], "{\"a\": 1}");
  EXPECT_EQ(output[2]["call_id"], "call_0");
  EXPECT_EQ(answer["usage"]["total_tokens"], answer["usage"]["input_tokens"].get<int>() +
                                                 answer["usage"]["output_tokens"].get<int>());
}

TEST(Responses, AnAnswerCutShortIsIncomplete) {
  TestServer server;
  server.script("one two three four five<|return|>");
  const json answer = server.json("/v1/responses", responseRequest({{"max_output_tokens", 2}}));
  EXPECT_EQ(answer["status"], "incomplete");
  EXPECT_EQ(answer["incomplete_details"]["reason"], "max_output_tokens");
}

TEST(Responses, EventsCountUpAndJoinToTheWhole) {
  TestServer server;
  server.script("<|channel|>hm 🙂<|message|>Let me see.<|constrain|>f\n{\"a\": 1}<|call|>");
  const ClientResponse response = server.post("/v1/responses", responseRequest({{"stream", true}}));
  std::vector<json> events;
  for (const std::string &text : eventsOf(response.body))
    events.push_back(json::parse(text));
  ASSERT_GT(events.size(), 10u);
  std::string reasoning, text, arguments;
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i]["sequence_number"], i);
    const std::string type = events[i]["type"];
    if (type == "response.reasoning_text.delta")
      reasoning += events[i]["delta"];
    if (type == "response.output_text.delta")
      text += events[i]["delta"];
    if (type == "response.function_call_arguments.delta")
      arguments += events[i]["delta"];
  }
  EXPECT_EQ(events.front()["type"], "response.created");
  EXPECT_EQ(events[1]["type"], "response.in_progress");
  EXPECT_EQ(events.back()["type"], "response.completed");
  EXPECT_EQ(reasoning, "hm 🙂");
  EXPECT_EQ(text, "Let me see.");
  EXPECT_EQ(arguments, "{\"a\": 1}");
  const json &output = events.back()["response"]["output"];
  ASSERT_EQ(output.size(), 3u);
  EXPECT_EQ(output[1]["content"][0]["text"], text);
}

TEST(Responses, EveryItemIsOpenedAndClosedOnce) {
  TestServer server;
  server.script("<|channel|>hm<|message|>yes<|return|>");
  const ClientResponse response = server.post("/v1/responses", responseRequest({{"stream", true}}));
  std::vector<std::string> types;
  for (const std::string &text : eventsOf(response.body))
    types.push_back(json::parse(text)["type"]);
  std::vector<std::string> unique; // deltas may be several
  for (const std::string &type : types)
    if (unique.empty() || unique.back() != type)
      unique.push_back(type);
  EXPECT_EQ(unique, (std::vector<std::string>{
                        "response.created", "response.in_progress", "response.output_item.added",
                        "response.content_part.added", "response.reasoning_text.delta",
                        "response.reasoning_text.done", "response.content_part.done",
                        "response.output_item.done", "response.output_item.added",
                        "response.content_part.added", "response.output_text.delta",
                        "response.output_text.done", "response.content_part.done",
                        "response.output_item.done", "response.completed"}));
}

TEST(Responses, ItemsBecomeMessages) {
  TestServer server;
  json body = responseRequest({{"instructions", "be brief"}});
  body["input"] = json::parse(R"([
    {"role": "user", "content": "w?"},
    {"type": "reasoning", "id": "rs_1", "summary": [],
     "content": [{"type": "reasoning_text", "text": "hm"}]},
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}", "id": "fc_1",
     "status": "completed"},
    {"type": "function_call", "call_id": "c2", "name": "g", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c2", "output": "two"},
    {"type": "function_call_output", "call_id": "c1",
     "output": [{"type": "input_text", "text": "one"}]},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so"}]}])");
  server.json("/v1/responses", body);
  EXPECT_EQ(promptText(server), "effort 1;developer:be brief;user:w?;assistant: call c1 f {} call "
                                "c2 g {};tool:two of c2 g;tool:one of c1 f;assistant:so;");
}

TEST(Responses, TruncationDropsTheOldestTurnsWholeAndSaysSo) {
  TestServer server; // context 512
  json items = json::array({{{"role", "developer"}, {"content", "keep me"}}});
  for (int i = 0; i < 40; ++i) {
    items.push_back({{"role", "user"}, {"content", "question number " + std::to_string(i)}});
    items.push_back({{"role", "assistant"}, {"content", "an answer of some length, yes"}});
  }
  items.push_back({{"role", "user"}, {"content", "the last one"}});
  json body = responseRequest({{"input", items}, {"max_output_tokens", 50}});
  const ClientResponse refused = server.post("/v1/responses", body);
  EXPECT_EQ(refused.status, 400u);
  EXPECT_EQ(json::parse(refused.body)["error"]["code"], "context_length_exceeded");
  body["truncation"] = "auto";
  const ClientResponse response = server.post("/v1/responses", body);
  ASSERT_EQ(response.status, 200u) << response.body;
  const json answer = json::parse(response.body);
  const int dropped = answer["dropped_messages"];
  EXPECT_GT(dropped, 0);
  EXPECT_EQ(dropped % 2, 0);
  EXPECT_NE(response.field("x-inf-warning").find("old messages were dropped"), std::string::npos);
  const std::string prompt = promptText(server);
  EXPECT_NE(prompt.find("developer:keep me;user:question number " + std::to_string(dropped / 2)),
            std::string::npos);
  EXPECT_NE(prompt.find("the last one"), std::string::npos);
  EXPECT_LE(server.service.requests().at(0).prompt.size(), 512u - 50u);
}

} // namespace
} // namespace inf::test
