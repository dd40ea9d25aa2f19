// The parser of Harmony answers: sound ones, and those that models really give.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/chat/harmony/HarmonyFormat.h"
#include "tests/runtime/chat/Parsed.h"
#include "tests/runtime/chat/Vectors.h"
#include "tests/runtime/tokenizer/TestFiles.h"

namespace inf {
namespace {

/// Control tokens in `text` are meant as such. The stop token is left out, as a generator does.
test::Parsed parse(const std::string &text, bool stopped = true,
                   const ChatSettings &settings = {}) {
  const Tokenizer &tokenizer = test::tinyTokenizer();
  std::vector<int32_t> ids = tokenizer.encode(text, SpecialTokens::Allow);
  return test::parseAnswer(*HarmonyFormat(tokenizer).parser(settings), ids, stopped);
}

TEST(HarmonyParser, ReasoningAndAnswerComeApartWithoutMarkers) {
  test::Parsed parsed = parse("<|channel|>analysis<|message|>Easy.<|end|><|start|>assistant"
                              "<|channel|>final<|message|>Four.");
  EXPECT_EQ(parsed.reasoning, "Easy.");
  EXPECT_EQ(parsed.content, "Four.");
  EXPECT_EQ(parsed.end, ChatEnd::Stop);
  EXPECT_EQ(parsed.warning, "");
}

TEST(HarmonyParser, ReasoningTokensCountItsHeaderAndEnd) {
  const Tokenizer &tokenizer = test::tinyTokenizer();
  std::string reasoning = "<|channel|>analysis<|message|>Easy.<|end|>";
  test::Parsed parsed = parse(reasoning + "<|start|>assistant<|channel|>final<|message|>Four.");
  EXPECT_EQ(parsed.reasoningTokens, tokenizer.encode(reasoning, SpecialTokens::Allow).size());
}

TEST(HarmonyParser, ACallIsNamedBeforeItsArgumentsCome) {
  for (const char *header : {" to=functions.ls<|channel|>commentary<|message|>",
                             "<|channel|>commentary to=functions.ls<|message|>",
                             "<|channel|>commentary to=functions.ls <|constrain|>json<|message|>",
                             "<|channel|>commentary to=functions.ls<|constrain|>json<|message|>",
                             " to=functions.ls<|channel|>commentary json<|message|>",
                             "<|channel|>commentary to=functions.ls code<|message|>",
                             "<|channel|>analysis to=functions.ls code<|message|>"}) {
    test::Parsed parsed = parse(std::string(header) + "{\"path\": \"/\"}");
    ASSERT_EQ(parsed.calls.size(), 1u) << header;
    EXPECT_EQ(parsed.calls[0].name, "ls") << header;
    EXPECT_EQ(parsed.calls[0].arguments, "{\"path\": \"/\"}");
    EXPECT_TRUE(parsed.calls[0].id.starts_with("call_"));
    EXPECT_EQ(parsed.end, ChatEnd::ToolCalls);
    EXPECT_EQ(parsed.content + parsed.reasoning + parsed.warning, "") << header;
  }
}

TEST(HarmonyParser, MarkersWrittenInCharactersStayOutOfNames) {
  const Tokenizer &tokenizer = test::tinyTokenizer();
  std::vector<int32_t> ids =
      tokenizer.encode(" to=functions.ls<|channel|>commentary", SpecialTokens::AsText);
  ids.push_back(*tokenizer.idOf("<|message|>"));
  test::Parsed parsed = test::parseAnswer(*HarmonyFormat(tokenizer).parser({}), ids, true);
  ASSERT_EQ(parsed.calls.size(), 1u);
  EXPECT_EQ(parsed.calls[0].name, "ls");
}

TEST(HarmonyParser, ArgumentsCutShortAreGivenAsTheyAreAndTold) {
  test::Parsed parsed = parse("<|channel|>commentary to=functions.f<|message|>{\"a\": {\"b\": 1}");
  ASSERT_EQ(parsed.calls.size(), 1u);
  EXPECT_EQ(parsed.calls[0].arguments, "{\"a\": {\"b\": 1}");
  EXPECT_EQ(parsed.end, ChatEnd::ToolCalls);
  EXPECT_EQ(parsed.warning, "the arguments of 'f' are not JSON");
}

TEST(HarmonyParser, ACallCutByTheLengthLimitEndsAsLength) {
  test::Parsed parsed = parse("<|channel|>commentary to=functions.f<|message|>{\"a\": ", false);
  ASSERT_EQ(parsed.calls.size(), 1u);
  EXPECT_EQ(parsed.end, ChatEnd::Length);
}

TEST(HarmonyParser, CommentaryToNobodyIsAPreambleToShow) {
  test::Parsed parsed = parse("<|channel|>commentary<|message|>I'll look.<|end|><|start|>assistant"
                              "<|channel|>commentary to=functions.f<|message|>{}");
  EXPECT_EQ(parsed.content, "I'll look.");
  EXPECT_EQ(parsed.calls.size(), 1u);
  EXPECT_EQ(parsed.end, ChatEnd::ToolCalls);
  EXPECT_EQ(parse("<|channel|>commentary<|message|>Nothing came.<|end|>").end, ChatEnd::Stop);
}

TEST(HarmonyParser, SeveralCallsHaveTheirOwnNumbersAndIds) {
  test::Parsed parsed =
      parse("<|channel|>commentary to=functions.f<|message|>{}<|call|><|start|>assistant"
            "<|channel|>commentary to=functions.g<|message|>{\"x\": 1}");
  ASSERT_EQ(parsed.calls.size(), 2u);
  EXPECT_EQ(parsed.calls[1].name, "g");
  EXPECT_EQ(parsed.calls[1].arguments, "{\"x\": 1}");
  EXPECT_NE(parsed.calls[0].id, parsed.calls[1].id);
}

TEST(HarmonyParser, StrayTextInAHeaderIsToldAndLosesNothingOfTheMessage) {
  test::Parsed parsed = parse("<|channel|>final --commentary junk<|message|>Four.");
  EXPECT_EQ(parsed.content, "Four.");
  EXPECT_EQ(parsed.warning, "stray text in a header: ' --commentary junk'");
}

TEST(HarmonyParser, AHeaderThatNeverBecomesAMessageShowsItsText) {
  EXPECT_EQ(parse("Just an answer.").content, "Just an answer.");
  EXPECT_EQ(parse("<|channel|>final Four.<|end|>").content, " Four.");
  EXPECT_EQ(parse("<|channel|>analysis Hm.<|end|>").reasoning, " Hm.");
  EXPECT_EQ(parse("<|channel|>fin", false).joined, "");
}

TEST(HarmonyParser, AMissingEndAndStartAreRepaired) {
  test::Parsed parsed =
      parse("<|channel|>analysis<|message|>Easy.<|channel|>final<|message|>Four.");
  EXPECT_EQ(parsed.reasoning, "Easy.");
  EXPECT_EQ(parsed.content, "Four.");
  EXPECT_NE(parsed.warning, "");
}

TEST(HarmonyParser, MessagesWrittenAsSomebodyElseAreNoAnswer) {
  test::Parsed parsed = parse("<|channel|>final<|message|>Four.<|end|><|start|>user<|message|>And "
                              "five?<|end|>");
  EXPECT_EQ(parsed.content, "Four.");
  EXPECT_EQ(parsed.reasoning, "And five?");
  EXPECT_EQ(parsed.warning, "a message written as 'user'");
}

TEST(HarmonyParser, EndReasoningLeadsIntoTheFinalAnswer) {
  const Tokenizer &tokenizer = test::tinyTokenizer();
  HarmonyFormat format(tokenizer);
  std::unique_ptr<ChatParser> parser = format.parser({});
  std::vector<ChatDelta> deltas;
  EXPECT_TRUE(parser->endReasoning().empty());
  for (int32_t id :
       tokenizer.encode("<|channel|>analysis<|message|>On and on", SpecialTokens::Allow))
    parser->push(id, deltas);
  ASSERT_TRUE(parser->inReasoning());
  std::vector<int32_t> way = parser->endReasoning();
  EXPECT_EQ(tokenizer.decode(way), "<|end|><|start|>assistant<|channel|>final<|message|>");
  for (int32_t id : way)
    parser->push(id, deltas);
  EXPECT_FALSE(parser->inReasoning());
  deltas.clear();
  parser->push(tokenizer.encode("Four", SpecialTokens::AsText)[0], deltas);
  ASSERT_EQ(deltas.size(), 1u);
  EXPECT_EQ(deltas[0].kind, ChatDelta::Kind::Content);
}

TEST(HarmonyParser, ARequiredToolIsCalledFromTheFirstToken) {
  const Tokenizer &tokenizer = test::tinyTokenizer();
  ChatSettings settings;
  settings.tools = {{"f", "", ""}};
  settings.requireTool = true;
  std::string prompt = tokenizer.decode(HarmonyFormat(tokenizer).render({}, settings));
  EXPECT_TRUE(prompt.ends_with("<|start|>assistant<|channel|>commentary to=functions.f "
                               "<|constrain|>json"))
      << prompt;
  test::Parsed parsed = parse("<|message|>{}", true, settings);
  ASSERT_EQ(parsed.calls.size(), 1u);
  EXPECT_EQ(parsed.calls[0].name, "f");
  settings.tools.push_back({"g", "", ""});
  EXPECT_EQ(parse("g<|message|>{}", true, settings).calls.at(0).name, "g");
  settings.requiredTool = "h";
  EXPECT_THROW(HarmonyFormat(tokenizer).render({}, settings), Error);
}

TEST(HarmonyParser, VectorsOfThePublishedParser) {
  const Tokenizer *o200k = test::o200k();
  if (!o200k)
    GTEST_SKIP() << "the folder ../shared does not exist";
  HarmonyFormat format(*o200k);
  auto run = [&](const char *name) {
    return test::parseAnswer(*format.parser({}), test::harmonyVector(name).ids, true);
  };
  test::Parsed simple = run("simple_reasoning_response");
  EXPECT_EQ(simple.reasoning, "User asks: \"What is 2 + 2?\" Simple arithmetic. Provide answer.");
  EXPECT_EQ(simple.content, "2 + 2 = 4.");
  test::Parsed call = run("simple_tool_call");
  ASSERT_EQ(call.calls.size(), 1u);
  EXPECT_EQ(call.calls[0].name, "lookup_weather");
  EXPECT_EQ(call.calls[0].arguments, "{\"location\": \"Tokyo\"}");
  test::Parsed stream = run("streamable_parser");
  ASSERT_EQ(stream.calls.size(), 1u);
  EXPECT_EQ(stream.calls[0].name, "browser.search");
  EXPECT_EQ(nlohmann::json::parse(stream.calls[0].arguments)["topn"], 10);
  EXPECT_TRUE(stream.reasoning.ends_with("{\"result\": \"https://openai.com/\"}"));
  EXPECT_EQ(stream.content, "");
  test::Parsed tool = run("tool_response_parsing");
  EXPECT_EQ(tool.reasoning, "{\"result\": \"https://openai.com/\"}");
}

} // namespace
} // namespace inf
