// Every error of the API, once: docs/serving.md has the same table.
#include <gtest/gtest.h>

#include "tests/runtime/server/TestServer.h"
#include "tests/runtime/tokenizer/TestFiles.h"

namespace inf::test {
namespace {

using nlohmann::json;

struct Case {
  const char *name;
  const char *path;
  const char *body;
  unsigned status;
  const char *code;
  const char *param; ///< "" is null
  const char *says;  ///< part of the message
};

constexpr const char *chat = "/v1/chat/completions";
constexpr const char *completions = "/v1/completions";
constexpr const char *responses = "/v1/responses";

const Case cases[] = {
    {"NotJson", chat, "{\"model\": ", 400, "invalid_json", "", "not JSON"},
    {"NumberOutOfRange", chat, "{\"seed\": 1e999}", 400, "invalid_json", "", "out of range"},
    {"NotAnObject", chat, "[1]", 400, "invalid_type", "", "expected an object"},
    {"KeyTwice", chat, "{\"model\": \"a\", \"model\": \"b\"}", 400, "duplicate_key", "", "'model'"},
    {"ModelMissing", chat, "{}", 400, "missing_required_parameter", "model", "'/model'"},
    {"ModelUnknown", chat, R"({"model": "gpt-4", "messages": []})", 404, "model_not_found", "model",
     "this server has 'tiny'"},
    {"FieldUnknown", chat, R"({"model": "tiny", "messages": [{"role": "user", "content": "a"}],
     "temprature": 1})",
     400, "unknown_parameter", "temprature", "'/temprature'"},
    {"MessagesMissing", chat, R"({"model": "tiny"})", 400, "missing_required_parameter", "messages",
     "missing"},
    {"MessagesEmpty", chat, R"({"model": "tiny", "messages": []})", 400, "invalid_value",
     "messages", "empty"},
    {"RoleUnknown", chat, R"({"model": "tiny", "messages": [{"role": "robot", "content": "a"}]})",
     400, "invalid_value", "messages[0].role", "system, developer, user, assistant, tool"},
    {"ContentMissing", chat, R"({"model": "tiny", "messages": [{"role": "user"}]})", 400,
     "missing_required_parameter", "messages[0].content", "missing"},
    {"ContentImage", chat,
     R"({"model": "tiny", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]})",
     400, "unsupported_content", "messages[0].content[0].type",
     "is 'image_url', which is not supported by this server; expected 'text'"},
    {"ToolAnswerWithoutCall", chat,
     R"({"model": "tiny", "messages": [{"role": "tool", "tool_call_id": "x", "content": "a"}]})",
     400, "invalid_value", "messages[0]", "no message before it"},
    {"Unrenderable", chat,
     R"({"model": "tiny", "messages": [{"role": "user", "content": "unrenderable"}]})", 400,
     "invalid_messages", "messages", "message 0"},
    {"TemperatureRange", chat, R"({"model": "tiny", "temperature": -1})", 400, "invalid_value",
     "temperature", "expected 0 to 100"},
    {"TemperatureType", chat, R"({"model": "tiny", "temperature": "hot"})", 400, "invalid_type",
     "temperature", "expected a number"},
    {"SeedType", chat, R"({"model": "tiny", "seed": 1.5})", 400, "invalid_type", "seed",
     "expected an integer"},
    {"TopLogprobsAlone", chat, R"({"model": "tiny", "top_logprobs": 2})", 400, "invalid_value",
     "top_logprobs", "needs"},
    {"TopLogprobsMany", chat, R"({"model": "tiny", "logprobs": true, "top_logprobs": 21})", 400,
     "invalid_value", "top_logprobs", "0 to 20"},
    {"BiasToken", chat, R"({"model": "tiny", "logit_bias": {"999999": 1}})", 400, "invalid_value",
     "logit_bias[999999]", "no token id"},
    {"BiasRange", chat, R"({"model": "tiny", "logit_bias": {"5": 101}})", 400, "invalid_value",
     "logit_bias[5]", "-100 to 100"},
    {"StopEmpty", chat, R"({"model": "tiny", "stop": [""]})", 400, "invalid_value", "stop",
     "0 bytes"},
    {"StopType", chat, R"({"model": "tiny", "stop": [1]})", 400, "invalid_type", "stop", "strings"},
    {"MaxTokensTwice", chat, R"({"model": "tiny", "max_tokens": 1, "max_completion_tokens": 2})",
     400, "invalid_value", "max_tokens", "differs"},
    {"StreamOptionsAlone", chat, R"({"model": "tiny", "stream_options": {}})", 400, "invalid_value",
     "stream_options", "only with"},
    {"StructuredOutput", chat, R"({"model": "tiny", "response_format": {"type": "json_object"}})",
     400, "unsupported_parameter", "response_format.type", "not supported"},
    {"EffortUnknown", chat, R"({"model": "tiny", "reasoning_effort": "minimal"})", 400,
     "invalid_value", "reasoning_effort", "low, medium, high"},
    {"FunctionsOld", chat, R"({"model": "tiny", "functions": [{"name": "f"}]})", 400,
     "unsupported_parameter", "functions", "Use tools"},
    {"Audio", chat, R"({"model": "tiny", "modalities": ["text", "audio"]})", 400,
     "unsupported_parameter", "modalities",
     "is an array, which is not supported by this server; expected [\"text\"] or null. Only text"},
    {"ToolType", chat, R"({"model": "tiny", "tools": [{"type": "web_search"}]})", 400,
     "unsupported_parameter", "tools[0].type",
     "is 'web_search', which is not supported by this server; expected 'function'"},
    {"ToolName", chat,
     R"({"model": "tiny", "tools": [{"type": "function", "function": {"name": "a b"}}]})", 400,
     "invalid_value", "tools[0].function.name", "no function's name"},
    {"ToolChoiceWithoutTools", chat, R"({"model": "tiny", "tool_choice": "required"})", 400,
     "invalid_value", "tool_choice", "needs tools"},
    {"ToolChoiceUnknown", chat,
     R"({"model": "tiny", "tools": [{"type": "function", "function": {"name": "f"}}],
         "tool_choice": {"type": "function", "function": {"name": "g"}}})",
     400, "invalid_value", "tool_choice", "none of the tools"},
    {"PromptMissing", completions, R"({"model": "tiny"})", 400, "missing_required_parameter",
     "prompt", "missing"},
    {"PromptEmpty", completions, R"({"model": "tiny", "prompt": ""})", 400, "empty_prompt",
     "prompt", "no tokens"},
    {"PromptToken", completions, R"({"model": "tiny", "prompt": [5, 1000000]})", 400,
     "invalid_value", "prompt", "token ids"},
    {"PromptNested", completions, R"({"model": "tiny", "prompt": [[1], {}]})", 400, "invalid_type",
     "prompt[1]", "expects"},
    {"MaxTokensZero", completions, R"({"model": "tiny", "prompt": "a", "max_tokens": 0})", 400,
     "invalid_value", "max_tokens", "at least 1"},
    {"TooManyChoices", completions, R"({"model": "tiny", "prompt": ["a", "b"], "n": 100})", 400,
     "invalid_value", "n", "200 choices"},
    {"BestOf", completions, R"({"model": "tiny", "prompt": "a", "best_of": 3})", 400,
     "unsupported_parameter", "best_of", "expected 1 or null. Use n"},
    {"Suffix", completions, R"({"model": "tiny", "prompt": "a", "suffix": "b"})", 400,
     "unsupported_parameter", "suffix",
     "is 'b', which is not supported by this server; expected \"\" or null. Leave it out"},
    {"PreviousResponse", responses,
     R"({"model": "tiny", "input": "a", "previous_response_id": "resp_1"})", 400,
     "unsupported_parameter", "previous_response_id", "not stored"},
    {"Background", responses, R"({"model": "tiny", "input": "a", "background": true})", 400,
     "unsupported_parameter", "background", "not stored"},
    {"TruncationUnknown", responses, R"({"model": "tiny", "input": "a", "truncation": "some"})",
     400, "invalid_value", "truncation", "auto, disabled"},
    {"ItemUnknown", responses, R"({"model": "tiny", "input": [{"type": "item_reference"}]})", 400,
     "unsupported_parameter", "input[0].type", "expected 'message'"},
    {"TextFormat", responses,
     R"({"model": "tiny", "input": "a", "text": {"format": {"type": "json_schema"}}})", 400,
     "unsupported_parameter", "text.format.type", "structured output"},
    {"DetokenizeToken", "/detokenize", R"({"tokens": [-1]})", 400, "invalid_value", "tokens",
     "token ids"},
    {"RouteUnknown", "/v1/embeddings", "{}", 404, "unknown_url", "", "/v1/embeddings"},
    {"MethodWrong", "/v1/models", "{}", 405, "method_not_allowed", "", "expects GET"},
};

class ErrorTable : public testing::TestWithParam<Case> {};

TEST_P(ErrorTable, HasStatusCodeParamAndMessage) {
  const Case &expected = GetParam();
  TestServer server;
  const ClientResponse response =
      inf::test::ask(server.port(), "POST", expected.path, expected.body);
  EXPECT_EQ(response.status, expected.status) << response.body;
  const json error = json::parse(response.body)["error"];
  EXPECT_EQ(error["code"], expected.code);
  EXPECT_EQ(error["type"], "invalid_request_error");
  EXPECT_EQ(error["param"].is_null() ? "" : error["param"].get<std::string>(), expected.param);
  EXPECT_NE(error["message"].get<std::string>().find(expected.says), std::string::npos) << error;
  EXPECT_TRUE(server.service.requests().empty()) << "no compute for a bad request";
  EXPECT_NE(response.field("x-request-id"), "");
}

INSTANTIATE_TEST_SUITE_P(All, ErrorTable, testing::ValuesIn(cases),
                         [](const auto &one) { return std::string(one.param.name); });

const json plain = {{"model", "tiny"}, {"prompt", "a"}};

json refusalOf(const ClientResponse &response, unsigned status) {
  EXPECT_EQ(response.status, status) << response.body;
  return json::parse(response.body)["error"];
}

TEST(Errors, AFullQueueIs429WithRetryAfter) {
  TestServer server;
  server.service.refuseNext(RefusalReason::Busy, "the queue is full");
  const ClientResponse response = server.post("/v1/completions", plain);
  const json error = refusalOf(response, 429);
  EXPECT_EQ(error["type"], "rate_limit_error");
  EXPECT_EQ(response.field("Retry-After"), "1");
}

TEST(Errors, APromptBeyondTheContextNamesBothCounts) {
  TestServer server;
  std::string prompt;
  for (int i = 0; i < 600; ++i)
    prompt += " word";
  json body = plain;
  body["prompt"] = prompt;
  const json error = refusalOf(server.post("/v1/completions", body), 400);
  EXPECT_EQ(error["code"], "context_length_exceeded");
  EXPECT_EQ(error["param"], "prompt");
  EXPECT_NE(error["message"].get<std::string>().find("512"), std::string::npos);
  EXPECT_TRUE(server.service.requests().empty());
}

TEST(Errors, WhatTheServiceRefusesAsInvalidIs400) {
  TestServer server;
  server.service.refuseNext(RefusalReason::Invalid, "bad options");
  EXPECT_EQ(refusalOf(server.post("/v1/completions", plain), 400)["message"], "bad options");
}

TEST(Errors, AFailureBeforeTheFirstTokenIsAStatusEvenForAStream) {
  TestServer server;
  server.script("", {.end = CompletionEnd::Error, .error = "secret detail"});
  json body = plain;
  body["stream"] = true;
  const ClientResponse response = server.post("/v1/completions", body);
  EXPECT_EQ(refusalOf(response, 500)["type"], "server_error");
  EXPECT_EQ(response.body.find("secret"), std::string::npos);
}

TEST(Errors, AFailureBehindTheFirstTokenIsAnEventAndTheEnd) {
  TestServer server;
  server.script("one two", {.end = CompletionEnd::Error, .error = "secret detail"});
  for (const char *path : {completions, chat, responses}) {
    json body = {{"model", "tiny"}, {"stream", true}};
    if (path == completions)
      body["prompt"] = "a";
    else if (path == chat)
      body["messages"] = {{{"role", "user"}, {"content", "a"}}};
    else
      body["input"] = "a";
    const ClientResponse response = server.post(path, body);
    EXPECT_EQ(response.status, 200u);
    EXPECT_NE(response.body.find("event: error\n"), std::string::npos) << response.body;
    EXPECT_EQ(response.body.find("[DONE]"), std::string::npos);
    EXPECT_EQ(response.body.find("secret"), std::string::npos);
  }
}

TEST(Errors, ADeadlineIs504) {
  TestServer server;
  server.script("one", {.end = CompletionEnd::Deadline});
  EXPECT_EQ(refusalOf(server.post("/v1/completions", plain), 504)["code"], "deadline_exceeded");
}

TEST(Errors, MoreChoicesThanCanEverBeThereAre400) { // 429 would be asked again for ever
  TestServerOptions options;
  options.limits.sequences = 2;
  options.limits.queue = 1;
  TestServer server(options);
  for (json body : {json{{"n", 4}}, json{{"prompt", {"a", "b"}}, {"n", 2}}}) {
    body.insert(plain.begin(), plain.end());
    const json error = refusalOf(server.post("/v1/completions", body), 400);
    EXPECT_EQ(error["code"], "invalid_value");
    EXPECT_NE(error["message"].get<std::string>().find("4 choices"), std::string::npos) << error;
    EXPECT_NE(error["message"].get<std::string>().find("3"), std::string::npos) << error;
  }
  json ask = {{"model", "tiny"}, {"messages", {{{"role", "user"}, {"content", "a"}}}}, {"n", 4}};
  EXPECT_EQ(refusalOf(server.post(chat, ask), 400)["param"], "n");
  ask["n"] = 3;
  EXPECT_EQ(server.post(chat, ask).status, 200u);
}

TEST(Errors, AllChoicesOfARequestAreTakenOrNone) {
  TestServerOptions options;
  options.limits.sequences = 2;
  options.limits.queue = 0;
  TestServer server(options);
  server.script("one two three", {.prefill = std::chrono::seconds(30)});
  HttpClient first(server.port());
  first.request("POST", "/v1/completions", plain.dump());
  while (server.service.requests().empty())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  json two = plain;
  two["n"] = 2;
  EXPECT_EQ(server.post("/v1/completions", two).status, 429u);
  EXPECT_EQ(server.service.requests().size(), 1u) << "no place was taken meanwhile";
  first.close();
  EXPECT_TRUE(server.service.idleWithin(std::chrono::seconds(5)));
  EXPECT_EQ(server.service.metrics().cancelled, 1u) << "only the client that left";
}

TEST(Errors, ChoicesBesideOneThatFailedAreNoSuccess) {
  TestServer server;
  server.service.setAuthor([&](const CompletionRequest &request) {
    const bool fails = request.sampling.seed == 1;
    return Script{server.format.ids("one two three four five six<|return|>"),
                  fails ? CompletionEnd::Error : CompletionEnd::Stop,
                  std::chrono::milliseconds(fails ? 1 : 50)};
  });
  json body = plain;
  body.update({{"n", 3}, {"seed", 0}});
  EXPECT_EQ(server.post("/v1/completions", body).status, 500u);
  EXPECT_TRUE(server.service.idleWithin(std::chrono::seconds(5)));
  EXPECT_EQ(server.service.metrics().finishedStop, 0u);
  EXPECT_EQ(server.service.metrics().cancelled, 2u);
}

TEST(Errors, TextThatTheTokenizerCantWriteIs400) {
  const Tokenizer letters = chainTokenizer(3); // a, aa, aaa
  TestServerOptions options;
  options.tokenizer = &letters;
  options.limits.vocabulary = 3;
  TestServer server(options);
  EXPECT_EQ(refusalOf(server.post("/v1/completions", {{"model", "tiny"}, {"prompt", "aaz"}}),
                      400)["param"],
            "prompt");
  EXPECT_EQ(refusalOf(server.post("/tokenize", {{"prompt", "aaz"}}), 400)["param"], "prompt");
  EXPECT_EQ(refusalOf(server.post(chat, {{"model", "tiny"},
                                         {"messages", {{{"role", "user"}, {"content", "z"}}}}}),
                      400)["param"],
            "messages");
}

TEST(Errors, AJsonOfTooManyPartsIsRefused) { // its parts take many times its text
  TestServer server;
  std::string body = "{\"model\": [[]";
  for (int i = 0; i < 600'000; ++i)
    body += ",[]";
  const json error =
      refusalOf(inf::test::ask(server.port(), "POST", "/v1/completions", body + "]}"), 400);
  EXPECT_EQ(error["code"], "json_too_large");
}

TEST(Errors, APromptFarBeyondTheContextIsRefusedBeforeAllOfItIsRead) {
  TestServer server;
  std::string prompt;
  for (int i = 0; i < 800'000; ++i)
    prompt += " word" + std::to_string(i % 10);
  const auto began = std::chrono::steady_clock::now();
  const std::pair<const char *, json> asked[] = {
      {"/v1/completions", {{"model", "tiny"}, {"prompt", prompt}}},
      {"/tokenize", {{"prompt", prompt}}},
      {chat, {{"model", "tiny"}, {"messages", {{{"role", "user"}, {"content", prompt}}}}}},
      {responses, {{"model", "tiny"}, {"input", prompt}}},
      {responses, {{"model", "tiny"}, {"input", prompt}, {"truncation", "auto"}}}};
  for (const auto &[path, body] : asked) {
    const json error = refusalOf(server.post(path, body), 400);
    EXPECT_EQ(error["code"], "context_length_exceeded");
    EXPECT_NE(error["message"].get<std::string>().find("more than"), std::string::npos) << error;
    EXPECT_NE(error["message"].get<std::string>().find("512"), std::string::npos) << error;
  }
  EXPECT_EQ(server.post("/v1/completions", plain).status, 200u);
  RecordProperty(
      "seconds",
      std::to_string(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count()));
}

TEST(Errors, AModelWithoutAChatFormatSaysSo) {
  TestServerOptions options;
  options.chat = false;
  TestServer server(options);
  const json error =
      refusalOf(server.post(chat, {{"model", "tiny"}, {"messages", json::array()}}), 400);
  EXPECT_EQ(error["code"], "no_chat_format");
}

TEST(Errors, AnotherContentTypeIs415) {
  TestServer server;
  HttpClient client(server.port());
  client.send("POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Type: text/plain\r\n"
              "Content-Length: 2\r\n\r\n{}");
  EXPECT_EQ(client.response().status, 415u);
}

TEST(Errors, SixtyThousandNestedArraysAreRefused) {
  TestServer server;
  const std::string deep(60'000, '[');
  const json error = refusalOf(inf::test::ask(server.port(), "POST", "/v1/completions", deep), 400);
  EXPECT_EQ(error["code"], "json_too_deep");
  EXPECT_EQ(server.post("/v1/completions", plain).status, 200u); // and the server lives
}

} // namespace
} // namespace inf::test
