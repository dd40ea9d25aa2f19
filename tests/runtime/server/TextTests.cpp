// Tokens to text where the tokenizer or the format makes it hard.
#include <gtest/gtest.h>

#include "tests/runtime/chat/ByteTokenizer.h"
#include "tests/runtime/server/Requests.h"
#include "tests/runtime/tokenizer/TestFiles.h"

namespace inf::test {
namespace {

using nlohmann::json;

/// A server that speaks a real format of marks over a vocabulary of bytes.
struct MarkedServer {
  explicit MarkedServer(const char *name)
      : tokenizer(byteTokenizer({"<|im_start|>", "<|im_end|>"})),
        format(ChatFormat::named(tokenizer, name)) {
    TestServerOptions options;
    options.tokenizer = &tokenizer;
    options.chatFormat = format.get();
    options.limits.vocabulary = uint32_t(tokenizer.vocabularySize());
    options.limits.context = options.limits.capacity = 4096; // a byte is a token
    server.emplace(options);
  }
  Tokenizer tokenizer;
  std::unique_ptr<const ChatFormat> format;
  std::optional<TestServer> server;
};

TEST(RealFormat, AnAnswerThatEndsByItsStopTokenHasNoWarning) {
  for (const char *name : {"chatml", "qwen3"}) {
    MarkedServer marked(name);
    marked.server->script("Hello.<|im_end|>");
    const json answer = marked.server->json("/v1/chat/completions", chatRequest());
    EXPECT_EQ(answer["choices"][0]["message"]["content"], "Hello.");
    EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
    EXPECT_FALSE(answer["choices"][0].contains("warning")) << answer;
    EXPECT_EQ(marked.server->service.requests().at(0).stopTokens, (std::vector<int32_t>{257}));
  }
}

TEST(RealFormat, ALineFeedAtTheEndKeepsItsLogprob) {
  MarkedServer marked("chatml");
  marked.server->script("Hi\n<|im_end|>");
  const json answer =
      marked.server->json("/v1/chat/completions", chatRequest({{"logprobs", true}}));
  EXPECT_EQ(answer["choices"][0]["message"]["content"], "Hi\n");
  std::string joined;
  for (const json &token : answer["choices"][0]["logprobs"]["content"])
    joined += token["token"];
  EXPECT_EQ(joined, "Hi\n");
}

TEST(RealFormat, WithIgnoreEosTheFormatsStopTokensDoNotStop) {
  MarkedServer marked("chatml");
  marked.server->json("/v1/chat/completions", chatRequest({{"ignore_eos", true}}));
  marked.server->json("/v1/responses", {{"model", "tiny"}, {"input", "a"}, {"ignore_eos", true}});
  for (const CompletionRequest &request : marked.server->service.requests()) {
    EXPECT_TRUE(request.ignoreEos);
    EXPECT_TRUE(request.stopTokens.empty());
  }
}

TEST(RealFormat, ACallThatEndsByAStopTokenIsWhole) {
  MarkedServer marked("qwen3");
  marked.server->script("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>"
                        "<|im_end|>");
  const json tools = {{{"type", "function"}, {"function", {{"name", "f"}}}}};
  const json answer = marked.server->json("/v1/chat/completions", chatRequest({{"tools", tools}}));
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "tool_calls");
  EXPECT_FALSE(answer["choices"][0].contains("warning")) << answer;
}

TEST(Reasoning, TwoMessagesOfItDoNotRunIntoEachOther) {
  TestServer server;
  server.script("<|channel|>first<|end|><|message|><|channel|>second<|message|>yes<|return|>");
  const json whole = server.json("/v1/chat/completions", chatRequest());
  EXPECT_EQ(whole["choices"][0]["message"]["reasoning_content"], "first\n\nsecond");
  std::string streamed;
  for (const std::string &event :
       eventsOf(server.post("/v1/chat/completions", chatRequest({{"stream", true}})).body))
    if (event != "[DONE]") {
      const json chunk = json::parse(event);
      streamed += chunk["choices"][0]["delta"].value("reasoning_content", "");
    }
  EXPECT_EQ(streamed, "first\n\nsecond");
  const json items = server.json("/v1/responses", {{"model", "tiny"}, {"input", "a"}})["output"];
  ASSERT_EQ(items.size(), 3u) << items;
  EXPECT_EQ(items[0]["content"][0]["text"], "first");
  EXPECT_EQ(items[1]["content"][0]["text"], "second");
  EXPECT_EQ(items[2]["content"][0]["text"], "yes");
}

/// Characters with marked spaces, as SentencePiece has them; with a begin token on demand.
Tokenizer sentencePiece(bool begins) {
  json file = charactersJson();
  file["normalizer"] = json::parse(R"json({"type": "Sequence", "normalizers": [
    {"type": "Prepend", "prepend": "▁"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]})json");
  file["decoder"]["decoders"].push_back(
      {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  if (begins)
    file["post_processor"] = json::parse(R"json({"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A"}}],
      "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}})json");
  return Tokenizer::fromJson(file.dump());
}

TestServerOptions over(const Tokenizer &tokenizer) {
  TestServerOptions options;
  options.tokenizer = &tokenizer;
  options.limits.vocabulary = uint32_t(tokenizer.vocabularySize()) + 8; // rows without a token
  return options;
}

TEST(Continuation, ItsFirstSpaceIsKept) {
  const Tokenizer tokenizer = sentencePiece(false);
  TestServer server(over(tokenizer));
  server.service.setAuthor([&](const CompletionRequest &) {
    return Script{tokenizer.encode("upon a", SpecialTokens::AsText), CompletionEnd::Length};
  });
  const json body = {{"model", "tiny"}, {"prompt", "Once"}, {"logprobs", 1}, {"max_tokens", 100}};
  const json answer = server.json("/v1/completions", body)["choices"][0];
  EXPECT_EQ(answer["text"], " upon a");
  std::string joined;
  for (const json &token : answer["logprobs"]["tokens"])
    joined += token;
  EXPECT_EQ(joined, " upon a") << "tokens keep theirs too";
}

TEST(Continuation, AnUnknownIdIsNoStartOfAText) {
  const Tokenizer tokenizer = sentencePiece(false);
  TestServer server(over(tokenizer));
  std::vector<int32_t> ids = tokenizer.encode("a", SpecialTokens::AsText);
  const std::vector<int32_t> again = ids;
  ids.push_back(tokenizer.vocabularySize() + 1);
  ids.insert(ids.end(), again.begin(), again.end());
  EXPECT_EQ(server.json("/detokenize", {{"tokens", ids}})["prompt"], "a\uFFFD a");
}

TEST(Echo, ABeginTokenTakesNoCharacters) {
  const Tokenizer tokenizer = sentencePiece(true);
  TestServer server(over(tokenizer));
  const json body = {
      {"model", "tiny"}, {"prompt", "Oé ab"}, {"echo", true}, {"logprobs", 1}, {"max_tokens", 0}};
  const json choice = server.json("/v1/completions", body)["choices"][0];
  EXPECT_EQ(choice["text"], "Oé ab");
  const std::vector<int32_t> ids = server.service.requests().at(0).prompt;
  const json &offsets = choice["logprobs"]["text_offset"];
  ASSERT_EQ(ids.at(0), 1) << "the begin token";
  ASSERT_EQ(offsets.size(), ids.size());
  EXPECT_EQ(offsets[0], 0);
  EXPECT_EQ(offsets[1], 0);
  for (size_t i = 1; i < ids.size(); ++i) { // where the text of the ids before it ends
    const std::string before = tokenizer.decode(std::span(ids).subspan(1, i - 1));
    const auto characters = std::count_if(before.begin(), before.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    });
    EXPECT_EQ(offsets[i], characters) << i;
  }
}

TEST(Echo, IdsWithoutATokenAreOneCharacterEach) {
  const Tokenizer tokenizer = sentencePiece(false);
  TestServer server(over(tokenizer));
  std::vector<int32_t> ids = {tokenizer.vocabularySize() + 1};
  const std::vector<int32_t> rest = tokenizer.encode("ab", SpecialTokens::AsText);
  ids.insert(ids.end(), rest.begin(), rest.end());
  const json body = {
      {"model", "tiny"}, {"prompt", ids}, {"echo", true}, {"logprobs", 1}, {"max_tokens", 0}};
  const json choice = server.json("/v1/completions", body)["choices"][0];
  EXPECT_EQ(choice["logprobs"]["text_offset"][1], 1);
}

} // namespace
} // namespace inf::test
