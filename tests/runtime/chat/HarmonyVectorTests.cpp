// The published renderer's own vectors: texts, and their ids in the vocabulary of gpt-oss-20b.
#include <gtest/gtest.h>

#include "runtime/chat/harmony/HarmonyFormat.h"
#include "runtime/chat/harmony/HarmonySystem.h"
#include "tests/runtime/chat/Vectors.h"

namespace inf {
namespace {

const char *const robot = "Answer the user's questions like a robot.";
const char *const capital = "What is the capital of the largest country in the world?";

ChatMessage said(ChatRole role, const std::string &text) {
  ChatMessage message;
  message.role = role;
  message.content = text;
  return message;
}

HarmonyMessage user(const std::string &text) { return {"user", "", "", "", text}; }
HarmonyMessage assistant(const std::string &channel, const std::string &text) {
  return {"assistant", "", channel, "", text};
}

class HarmonyVectors : public ::testing::Test {
protected:
  void SetUp() override {
    if (!test::o200k())
      GTEST_SKIP() << "the folder ../shared does not exist";
  }

  void expectIds(const std::string &name, const std::vector<int32_t> &ids) {
    test::HarmonyVector vector = test::harmonyVector(name);
    EXPECT_EQ(test::o200k()->decode(ids), vector.text) << name;
    EXPECT_EQ(ids, vector.ids) << name;
  }
  /// Through the whole of the format, as everybody uses it.
  void expectChat(const std::string &name, const std::vector<ChatMessage> &messages,
                  const ChatSettings &settings) {
    expectIds(name, HarmonyFormat(*test::o200k()).render(messages, settings));
  }
  /// For what an API's messages can't say: no system message, other channels, other headers.
  void expectMessages(const std::string &name, const std::vector<HarmonyMessage> &messages,
                      bool continues = true) {
    expectIds(name,
              renderHarmony(*test::o200k(), HarmonyTokens(*test::o200k()), messages, continues));
  }
};

TEST_F(HarmonyVectors, AConversationOfOneQuestion) {
  expectChat("simple_convo", {said(ChatRole::User, "What is 2 + 2?")}, {});
}

TEST_F(HarmonyVectors, EffortIsSaidInTheSystemMessageAndInstructionsInTheDevelopers) {
  const std::pair<ReasoningEffort, const char *> efforts[] = {{ReasoningEffort::Low, "low"},
                                                              {ReasoningEffort::Medium, "medium"},
                                                              {ReasoningEffort::High, "high"}};
  for (auto [effort, name] : efforts) {
    ChatSettings settings;
    settings.effort = effort;
    std::string vector = std::string("simple_convo_") + name + "_effort";
    // An API's "system" is Harmony's "developer".
    for (ChatRole role : {ChatRole::System, ChatRole::Developer})
      expectChat(vector, {said(role, robot), said(ChatRole::User, capital)}, settings);
    expectChat(vector + "_no_instruction", {said(ChatRole::User, capital)}, settings);
  }
}

TEST_F(HarmonyVectors, TheDateAndBuiltinToolsComeFromSettings) {
  ChatSettings settings;
  settings.date = "2025-06-28";
  expectChat("no_tools", {}, settings);
  settings.browserTool = true;
  expectChat("browser_tool_only", {}, settings);
  settings.pythonTool = true;
  expectChat("browser_and_python_tool", {}, settings);
}

TEST_F(HarmonyVectors, ToolsOfBothKindsTogether) {
  ChatSettings settings;
  settings.date = "2025-06-28";
  settings.browserTool = true;
  settings.tools = {{"lookup_weather",
                     "Use this tool to lookup the weather in a given location. Call it with the "
                     "parameter 'location', can be any textual description of a location.",
                     R"({"type": "object", "properties": {"location": {"type": "string"}},
                         "required": ["location"]})"}};
  expectChat("browser_and_function_tool", {}, settings);
}

TEST_F(HarmonyVectors, FunctionsAreDeclaredAsTypes) {
  const std::string format =
      R"("format": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"})";
  ChatSettings settings;
  settings.date = "2025-06-28";
  settings.effort = ReasoningEffort::High;
  settings.tools = {{"get_location", "Gets the location of the user.", ""},
                    {"get_current_weather", "Gets the current weather in the provided location.",
                     R"({"type": "object", "properties": {"location": {"type": "string",
           "description": "The city and state, e.g. San Francisco, CA"}, )" +
                         format + R"(}, "required": ["location"]})"},
                    {"get_multiple_weathers",
                     "Gets the current weather in the provided list of locations.",
                     R"({"type": "object", "properties": {"locations": {"type": "array",
           "items": {"type": "string"}, "description":
           "List of city and state, e.g. [\"San Francisco, CA\", \"New York, NY\"]"}, )" +
                         format + R"(}, "required": ["locations"]})"},
                    {"kitchensink", "A function with various complex schemas.", R"({
        "description": "params object", "type": "object", "properties": {
          "string": {"type": "string", "title": "STRING", "description": "A string",
                     "examples": ["hello", "world"]},
          "string_nullable": {"type": "string", "nullable": true,
                              "description": "A nullable string", "default": "the default"},
          "string_enum": {"type": "string", "enum": ["a", "b", "c"]},
          "oneof_string_or_number": {"oneOf": [
            {"type": "string", "default": "default_string_in_oneof"},
            {"type": "number", "description": "numbers can happen too"}],
            "description": "a oneof", "default": 20}}})"}};
  expectChat("render_functions_with_parameters",
             {said(ChatRole::Developer, "Always respond in riddles"),
              said(ChatRole::User, "What is the weather like in SF?")},
             settings);
}

TEST_F(HarmonyVectors, OtherChannelsAndDatesInTheSystemMessage) {
  HarmonySystem system;
  system.channels = {"analysis", "final"};
  auto message = [&] { return HarmonyMessage{"system", "", "", "", harmonySystemText(system)}; };
  expectMessages("reasoning_system_message", {message(), user("What is 2 + 2?")});
  system.effort = ReasoningEffort::High;
  expectMessages("reasoning_system_message_no_instruction",
                 {message(), user("What is the best place to eat candy in the world?")});
  system.effort = ReasoningEffort::Medium;
  system.date = "2021-01-01";
  system.knowledgeCutoff = "2021-01";
  expectMessages("reasoning_system_message_with_dates", {message(), user("What is 42 * pi?")});
}

TEST_F(HarmonyVectors, ReasonsOfAFinishedAnswerAreDropped) {
  std::vector<HarmonyMessage> messages = {
      user("What is 2 + 2?"),
      assistant("analysis", "User asks: “What is 2 + 2?” Simple arithmetic. Provide answer."),
      assistant("final", "2 + 2 equals 4."), user("What about 9 / 2?")};
  expectMessages("dropping_cot_by_default", dropOldAnalysis(messages, true));
  messages[1].text = "User asks a simple question: \"What is 2 + 2?\" The answer: 4.";
  expectMessages("preserve_cot", messages);
}

TEST_F(HarmonyVectors, ReasonsStayWhileToolsAreInFlight) {
  std::vector<HarmonyMessage> messages = {
      user("What is the weather in SF?"),
      assistant("analysis",
                "User asks: “What is the weather in SF?” We need to use lookup_weather tool."),
      {"assistant", "functions.lookup_weather", "commentary", "json",
       R"({"location": "San Francisco"})"},
      {"functions.lookup_weather", "", "", "", R"({"temperature": 20, "description": "sunny"})"}};
  expectMessages("does_not_drop_if_ongoing_analysis", dropOldAnalysis(messages, true));
}

TEST_F(HarmonyVectors, ReasonsOfTheAnswerThatEndsAConversationStay) {
  std::vector<HarmonyMessage> messages = {
      user("What is 2 + 2?"), assistant("analysis", "thinking 2+2"), assistant("final", "4"),
      user("What is 3 + 5?"), assistant("analysis", "thinking 3+5"), assistant("final", "8")};
  expectMessages("keep_analysis_between_finals", dropOldAnalysis(messages, false), false);
}

TEST_F(HarmonyVectors, ATurnAfterAnAnswerWithToolsForgetsWhyTheyWereCalled) {
  ChatMessage calling = said(ChatRole::Assistant, "");
  calling.reasoning = "secret reasons";
  calling.toolCalls = {{"call_1", "f", "{}"}};
  ChatMessage answer = said(ChatRole::Tool, "3");
  answer.toolCallId = "call_1";
  ChatMessage last = said(ChatRole::Assistant, "It is 3.");
  last.reasoning = "secret conclusions";
  HarmonyFormat format(*test::o200k());
  std::vector<ChatMessage> messages = {said(ChatRole::User, "?"), calling, answer};
  std::string inFlight = test::o200k()->decode(format.render(messages, {}));
  EXPECT_NE(inFlight.find("<|start|>assistant<|channel|>analysis<|message|>secret reasons<|end|>"
                          "<|start|>assistant to=functions.f<|channel|>commentary <|constrain|>"
                          "json<|message|>{}<|call|><|start|>functions.f to=assistant<|channel|>"
                          "commentary<|message|>3<|end|><|start|>assistant"),
            std::string::npos)
      << inFlight;
  messages.push_back(last);
  messages.push_back(said(ChatRole::User, "Sure?"));
  std::string later = test::o200k()->decode(format.render(messages, {}));
  EXPECT_EQ(later.find("secret"), std::string::npos);
  EXPECT_NE(later.find("<|channel|>final<|message|>It is 3.<|end|><|start|>user"),
            std::string::npos);
  EXPECT_EQ(later.find("<|return|>"), std::string::npos);
}

} // namespace
} // namespace inf
