// /v1/completions, whole and as a stream.
#include <gtest/gtest.h>

#include "tests/runtime/server/TestServer.h"

namespace inf::test {
namespace {

using nlohmann::json;

json completion(const json &more = json::object()) {
  json body = {{"model", "tiny"}, {"prompt", "Once upon a time"}};
  body.update(more);
  return body;
}

/// The texts of a stream joined, and its last event checked.
std::string streamed(const ClientResponse &response) {
  const std::vector<std::string> events = eventsOf(response.body);
  EXPECT_FALSE(events.empty());
  EXPECT_EQ(events.empty() ? "" : events.back(), "[DONE]");
  std::string text;
  for (const std::string &event : events)
    if (event != "[DONE]") {
      const json chunk = json::parse(event);
      for (const json &choice : chunk["choices"])
        text += choice["text"].get<std::string>();
    }
  return text;
}

TEST(Completions, AnswersWithTheTextThatTheTokensMake) {
  TestServer server;
  server.script("there was a <|return|>", {.cached = 3});
  const json answer = server.json("/v1/completions", completion({{"seed", 7}}));
  EXPECT_EQ(answer["object"], "text_completion");
  EXPECT_EQ(answer["choices"][0]["text"], "there was a ");
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(answer["system_fingerprint"], "fp_b17d_s7");
  const CompletionRequest asked = server.service.requests().at(0);
  EXPECT_EQ(answer["usage"]["prompt_tokens"], asked.prompt.size());
  EXPECT_EQ(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 3);
  EXPECT_EQ(answer["usage"]["completion_tokens"],
            server.format.ids("there was a <|return|>").size());
  EXPECT_EQ(asked.sampling.seed, 7u);
  EXPECT_EQ(asked.maxTokens, 16u);
}

TEST(Completions, MarkersInAPromptAreText) {
  TestServer server;
  server.json("/v1/completions", completion({{"prompt", "a<|end|>b"}}));
  const std::vector<int32_t> prompt = server.service.requests().at(0).prompt;
  for (int32_t id : prompt)
    EXPECT_FALSE(smallTokenizer().isSpecial(id));
}

TEST(Completions, StreamEqualsWhole) {
  TestServer server;
  server.script("naïve 日本 🙂 end<|return|>");
  const json whole = server.json("/v1/completions", completion({{"max_tokens", 100}}));
  const ClientResponse stream =
      server.post("/v1/completions", completion({{"max_tokens", 100}, {"stream", true}}));
  EXPECT_EQ(stream.status, 200u);
  EXPECT_EQ(streamed(stream), whole["choices"][0]["text"]);
  EXPECT_EQ(whole["choices"][0]["text"], "naïve 日本 🙂 end");
}

TEST(Completions, StopStringsSpanTokensAndAreNeverShown) {
  TestServer server;
  server.script("one two three four<|return|>");
  const json body = completion({{"stop", {"o thr", "zzz"}}, {"max_tokens", 100}});
  const json whole = server.json("/v1/completions", body);
  EXPECT_EQ(whole["choices"][0]["text"], "one tw");
  EXPECT_EQ(whole["choices"][0]["finish_reason"], "stop");
  json streaming = body;
  streaming["stream"] = true;
  EXPECT_EQ(streamed(server.post("/v1/completions", streaming)), "one tw");
}

TEST(Completions, SeveralPromptsAndChoicesAreNumberedInOrder) {
  TestServer server;
  server.service.setAuthor([&](const CompletionRequest &request) {
    return Script{server.format.ids(std::to_string(request.sampling.seed) + "<|return|>")};
  });
  const json answer = server.json("/v1/completions",
                                  completion({{"prompt", {"a", "b c d"}}, {"n", 2}, {"seed", 5}}));
  ASSERT_EQ(answer["choices"].size(), 4u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(answer["choices"][i]["index"], i);
    EXPECT_EQ(answer["choices"][i]["text"], std::to_string(5 + i % 2)); // seeds differ by choice
  }
  size_t tokens = 0;
  for (const char *prompt : {"a", "b c d"})
    tokens += smallTokenizer().encode(prompt, SpecialTokens::AsText).size();
  EXPECT_EQ(answer["usage"]["prompt_tokens"], tokens); // each prompt once
}

TEST(Completions, EchoWithLogprobsScoresThePrompt) {
  TestServer server;
  const json answer = server.json("/v1/completions",
                                  completion({{"echo", true}, {"logprobs", 1}, {"max_tokens", 0}}));
  const json &choice = answer["choices"][0];
  EXPECT_EQ(choice["text"], "Once upon a time");
  const json &logprobs = choice["logprobs"];
  const size_t tokens = server.service.requests().at(0).prompt.size();
  ASSERT_EQ(logprobs["tokens"].size(), tokens);
  EXPECT_TRUE(logprobs["token_logprobs"][0].is_null());
  EXPECT_EQ(logprobs["token_logprobs"][1], -1.0);
  std::string joined;
  for (size_t i = 0; i < tokens; ++i) {
    EXPECT_EQ(logprobs["text_offset"][i], joined.size());
    joined += logprobs["tokens"][i].get<std::string>();
  }
  EXPECT_EQ(joined, "Once upon a time");
  EXPECT_EQ(answer["usage"]["completion_tokens"], 0);
}

TEST(Completions, LogprobsCoverExactlyTheTextShown) {
  TestServer server;
  server.script("one two three four<|return|>");
  const json answer = server.json(
      "/v1/completions", completion({{"stop", " three"}, {"logprobs", 2}, {"max_tokens", 100}}));
  std::string joined;
  for (const json &token : answer["choices"][0]["logprobs"]["tokens"])
    joined += token.get<std::string>();
  EXPECT_EQ(joined, "one two");
  EXPECT_EQ(answer["choices"][0]["text"], "one two");
}

TEST(Completions, TokenIdsIncludeControlTokens) {
  TestServer server;
  server.script("a<|return|>");
  const json answer = server.json("/v1/completions", completion({{"return_token_ids", true}}));
  EXPECT_EQ(answer["choices"][0]["token_ids"], json(server.format.ids("a<|return|>")));
  EXPECT_EQ(answer["prompt_token_ids"], json(server.service.requests().at(0).prompt));
  EXPECT_EQ(answer["choices"][0]["text"], "a");
}

TEST(Completions, UsageComesLastInAStreamThatAsksForIt) {
  TestServer server;
  const ClientResponse response =
      server.post("/v1/completions",
                  completion({{"stream", true}, {"stream_options", {{"include_usage", true}}}}));
  const std::vector<std::string> events = eventsOf(response.body);
  ASSERT_GE(events.size(), 3u);
  const json last = json::parse(events[events.size() - 2]);
  EXPECT_TRUE(last["choices"].empty());
  EXPECT_EQ(last["usage"]["completion_tokens"], server.format.ids("ok<|return|>").size());
  EXPECT_TRUE(json::parse(events[0])["usage"].is_null());
}

TEST(Completions, EverySamplingFieldReachesTheService) {
  TestServer server;
  server.json("/v1/completions", completion({{"temperature", 0.5},
                                             {"top_p", 0.75},
                                             {"top_k", 40},
                                             {"min_p", 0.25},
                                             {"frequency_penalty", 1.5},
                                             {"presence_penalty", -1.5},
                                             {"repetition_penalty", 1.25},
                                             {"min_tokens", 3},
                                             {"ignore_eos", true},
                                             {"stop_token_ids", {5, 6}},
                                             {"logit_bias", {{"9", -100}, {"10", 1.5}}}}));
  const CompletionRequest asked = server.service.requests().at(0);
  EXPECT_EQ(asked.sampling.temperature, 0.5f);
  EXPECT_EQ(asked.sampling.topP, 0.75f);
  EXPECT_EQ(asked.sampling.topK, 40);
  EXPECT_EQ(asked.sampling.minP, 0.25f);
  EXPECT_EQ(asked.sampling.frequencyPenalty, 1.5f);
  EXPECT_EQ(asked.sampling.presencePenalty, -1.5f);
  EXPECT_EQ(asked.sampling.repetitionPenalty, 1.25f);
  EXPECT_EQ(asked.sampling.minTokens, 3u);
  EXPECT_TRUE(asked.ignoreEos);
  EXPECT_EQ(asked.stopTokens, (std::vector<int32_t>{5, 6}));
  ASSERT_EQ(asked.sampling.logitBias.size(), 2u);
}

TEST(Models, ListsTheOneServedAndFindsItByName) {
  TestServer server;
  const json list = json::parse(server.get("/v1/models").body);
  EXPECT_EQ(list["data"][0]["id"], "tiny");
  EXPECT_EQ(json::parse(server.get("/v1/models/tiny").body)["object"], "model");
  EXPECT_EQ(json::parse(server.get("/v1/models/t%69ny").body)["id"], "tiny");
  EXPECT_EQ(server.get("/v1/models/other").status, 404u);
}

TEST(Tokens, TokenizeAndDetokenizeAreInverse) {
  TestServer server;
  const json ids = server.json("/tokenize", {{"prompt", "日本 a<|end|>"}});
  EXPECT_EQ(ids["count"], ids["tokens"].size());
  EXPECT_EQ(server.json("/detokenize", {{"tokens", ids["tokens"]}})["prompt"], "日本 a<|end|>");
}

} // namespace
} // namespace inf::test
