// Answers with <think> and <tool_call>, and Llama's calls, token by token.
#include <gtest/gtest.h>

#include "runtime/chat/Chat.h"
#include "runtime/chat/templates/CallText.h"
#include "tests/runtime/chat/ByteTokenizer.h"
#include "tests/runtime/chat/Parsed.h"

namespace inf {
namespace {

ChatSettings withTool() {
  ChatSettings settings;
  settings.tools = {{"f", "", ""}};
  return settings;
}

/// A byte is a token, so every mark is cut in every place.
test::Parsed parse(const std::string &format, const std::string &text, bool stopped = true,
                   const ChatSettings &settings = withTool()) {
  Tokenizer tokenizer =
      test::byteTokenizer({"<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|start_header_id|>",
                           "<|end_header_id|>", "<|eot_id|>"});
  std::vector<int32_t> ids = tokenizer.encode(text, SpecialTokens::Allow);
  return test::parseAnswer(*ChatFormat::named(tokenizer, format)->parser(settings), ids, stopped);
}

TEST(TaggedParser, ReasoningAndAnswerComeApartWithoutMarks) {
  test::Parsed parsed = parse("qwen3", "<think>\nHm,\n\nso.\n</think>\n\nFour.\n\nOr five.");
  EXPECT_EQ(parsed.reasoning, "Hm,\n\nso.");
  EXPECT_EQ(parsed.content, "Four.\n\nOr five.");
  EXPECT_EQ(parsed.end, ChatEnd::Stop);
  EXPECT_GT(parsed.reasoningTokens, 8u);
}

TEST(TaggedParser, ReasoningThatIsCutIsReasoning) {
  test::Parsed parsed = parse("qwen3", "<think>\nOn and on", false);
  EXPECT_EQ(parsed.reasoning, "On and on");
  EXPECT_EQ(parsed.end, ChatEnd::Length);
}

TEST(TaggedParser, WhatOnlyLooksLikeAMarkIsText) {
  EXPECT_EQ(parse("qwen3", "a < b, <thin, <tool_cal").content, "a < b, <thin, <tool_cal");
  EXPECT_EQ(parse("qwen2", "<think>no mark here</think>").content, "<think>no mark here</think>");
  EXPECT_EQ(parse("qwen3", "ends with\n\n").content, "ends with\n\n");
}

TEST(TaggedParser, CallsAreNamedAndTheirArgumentsAreAsGenerated) {
  test::Parsed parsed =
      parse("qwen3", "I'll look.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": 1.0, "
                     "\"s\": \"}\"}}\n</tool_call>\n<tool_call>\n{\"arguments\": {}, \"name\": "
                     "\"g\"}\n</tool_call>");
  EXPECT_EQ(parsed.content, "I'll look.");
  ASSERT_EQ(parsed.calls.size(), 2u);
  EXPECT_EQ(parsed.calls[0].name, "f");
  EXPECT_EQ(parsed.calls[0].arguments, "{\"x\": 1.0, \"s\": \"}\"}");
  EXPECT_EQ(parsed.calls[1].name, "g");
  EXPECT_EQ(parsed.calls[1].arguments, "{}");
  EXPECT_NE(parsed.calls[0].id, parsed.calls[1].id);
  EXPECT_EQ(parsed.end, ChatEnd::ToolCalls);
  EXPECT_EQ(parsed.warning, "");
}

TEST(TaggedParser, ACallThatIsCutOrUnbalancedIsGivenAndTold) {
  for (bool stopped : {false, true}) {
    test::Parsed parsed =
        parse("qwen3", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": 1", stopped);
    ASSERT_EQ(parsed.calls.size(), 1u);
    EXPECT_EQ(parsed.calls[0].arguments, "{\"x\": 1");
    EXPECT_EQ(parsed.warning, "the call of 'f' is not JSON");
    EXPECT_EQ(parsed.end, stopped ? ChatEnd::ToolCalls : ChatEnd::Length);
  }
}

TEST(TaggedParser, ACallOfNothingIsContent) {
  test::Parsed parsed = parse("qwen3", "<tool_call>\nhm\n</tool_call>");
  EXPECT_TRUE(parsed.calls.empty());
  EXPECT_EQ(parsed.content, "hm\n");
  EXPECT_EQ(parsed.warning, "a tool call that names no function");
}

TEST(TaggedParser, ALlamaAnswerThatIsACallIsOne) {
  test::Parsed parsed = parse("llama3.1", "{\"name\": \"f\", \"parameters\": {\"x\": 1}}");
  ASSERT_EQ(parsed.calls.size(), 1u);
  EXPECT_EQ(parsed.calls[0].arguments, "{\"x\": 1}");
  EXPECT_EQ(parse("llama3.1", "{1, 2} is a set").content, "{1, 2} is a set");
  EXPECT_EQ(parse("llama3.1", "{\"name\": \"f\"}", true, {}).content, "{\"name\": \"f\"}");
}

TEST(TaggedParser, ARequiredToolIsCalledFromTheFirstToken) {
  ChatSettings settings = withTool();
  settings.requireTool = true;
  for (const char *format : {"qwen2.5", "qwen3", "llama3.1"}) {
    test::Parsed parsed = parse(format, "{\"x\": 1}}", true, settings);
    ASSERT_EQ(parsed.calls.size(), 1u) << format;
    EXPECT_EQ(parsed.calls[0].name, "f");
    EXPECT_EQ(parsed.calls[0].arguments, "{\"x\": 1}");
  }
}

TEST(TaggedParser, EndReasoningLeadsIntoTheAnswer) {
  Tokenizer tokenizer = test::byteTokenizer({"<|im_start|>", "<|im_end|>"});
  std::unique_ptr<ChatParser> parser = ChatFormat::named(tokenizer, "qwen3")->parser({});
  std::vector<ChatDelta> deltas;
  for (int32_t id : tokenizer.encode("<think>\nOn and on", SpecialTokens::AsText))
    parser->push(id, deltas);
  ASSERT_TRUE(parser->inReasoning());
  std::vector<int32_t> way = parser->endReasoning();
  EXPECT_EQ(tokenizer.decode(way), "\n</think>\n\n");
  for (int32_t id : way)
    parser->push(id, deltas);
  EXPECT_FALSE(parser->inReasoning());
}

TEST(CallText, MembersOfInnerObjectsAreNotTheCalls) {
  auto call =
      readCallText(R"({"arguments": {"name": "inner", "arguments": 1}, "name": "f\u00e9"})");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->name, "f\xc3\xa9");
  EXPECT_EQ(call->arguments, R"({"name": "inner", "arguments": 1})");
  EXPECT_TRUE(call->sound);
  EXPECT_FALSE(readCallText(R"(["name", "f"])"));
  EXPECT_FALSE(readCallText(R"({"name": {"name": "f"}})"));
  EXPECT_FALSE(readCallText(R"({"name": "f)"));
}

} // namespace
} // namespace inf
