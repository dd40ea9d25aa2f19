// Formats by marks, against texts derived by hand from the published templates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/Error.h"
#include "runtime/chat/Chat.h"
#include "runtime/chat/templates/TemplateSpec.h"
#include "tests/runtime/chat/ByteTokenizer.h"

namespace inf {
namespace {

using ::testing::HasSubstr;

ChatMessage said(ChatRole role, const std::string &text) {
  ChatMessage message;
  message.role = role;
  message.content = text;
  return message;
}

const std::vector<ChatMessage> shortTalk = {
    said(ChatRole::System, "Be brief."), said(ChatRole::User, "Hi"),
    said(ChatRole::Assistant, "Hello."), said(ChatRole::User, "Bye")};

Tokenizer tokenizerOf(const std::string &format) {
  std::vector<std::string> controls;
  for (std::string_view control : templateNamed(format)->controls)
    controls.emplace_back(control);
  return test::byteTokenizer(controls);
}

std::string rendered(const std::string &format, const std::vector<ChatMessage> &messages,
                     const ChatSettings &settings = {}) {
  Tokenizer tokenizer = tokenizerOf(format);
  return tokenizer.decode(ChatFormat::named(tokenizer, format)->render(messages, settings));
}

/// The message of the Error that rendering must throw, with its code in front.
std::string refusal(const std::string &format, const std::vector<ChatMessage> &messages,
                    const ChatSettings &settings = {}) {
  try {
    return "rendered: " + rendered(format, messages, settings);
  } catch (const Error &error) {
    return std::to_string(static_cast<int>(error.code)) + ": " + error.what();
  }
}

ChatSettings withWeather() {
  ChatSettings settings;
  settings.tools = {
      {"weather", "Says it.", R"({"type":"object","properties":{"at":{"type":"string"}}})"}};
  return settings;
}

/// A call of the weather tool, its answer, and what comes of it.
std::vector<ChatMessage> weatherTalk() {
  ChatMessage call = said(ChatRole::Assistant, "");
  call.toolCalls = {{"call_1", "weather", R"({"at": "Bonn"})"}};
  ChatMessage answer = said(ChatRole::Tool, "rain");
  answer.toolCallId = "call_1";
  return {said(ChatRole::User, "Rain?"), call, answer};
}

TEST(TemplateFormat, ShortTalkInEachFormat) {
  const std::pair<const char *, const char *> expected[] = {
      {"chatml", "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
                 "<|im_start|>assistant\nHello.<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n"
                 "<|im_start|>assistant\n"},
      {"llama3",
       "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
       "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>"
       "assistant<|end_header_id|>\n\nHello.<|eot_id|><|start_header_id|>user"
       "<|end_header_id|>\n\nBye<|eot_id|><|start_header_id|>assistant<|end_header_id|>"
       "\n\n"},
      {"llama2", "<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHi [/INST] Hello. </s><s>[INST] Bye "
                 "[/INST]"},
      {"mistral", "<s>[INST] Be brief.\n\nHi [/INST]Hello.</s>[INST] Bye [/INST]"},
      {"mistral-v3", "<s>[INST] Hi[/INST] Hello.</s>[INST] Be brief.\n\nBye[/INST]"},
      {"zephyr", "<|system|>\nBe brief.</s>\n<|user|>\nHi</s>\n<|assistant|>\nHello.</s>\n"
                 "<|user|>\nBye</s>\n<|assistant|>\n"},
      {"phi3", "<|system|>\nBe brief.<|end|>\n<|user|>\nHi<|end|>\n<|assistant|>\nHello.<|end|>\n"
               "<|user|>\nBye<|end|>\n<|assistant|>\n"},
  };
  for (auto [format, text] : expected)
    EXPECT_EQ(rendered(format, shortTalk), text) << format;
  for (const char *format : {"qwen2", "qwen2.5", "qwen3"})
    EXPECT_EQ(rendered(format, shortTalk), rendered("chatml", shortTalk)) << format;
}

TEST(TemplateFormat, WhatStandsThereWithoutInstructions) {
  const std::vector<ChatMessage> hi = {said(ChatRole::User, "Hi")};
  const std::string turn = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n";
  EXPECT_EQ(rendered("chatml", hi), turn);
  EXPECT_EQ(rendered("qwen3", hi), turn);
  EXPECT_EQ(rendered("qwen2", hi),
            "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n" + turn);
  EXPECT_EQ(rendered("qwen2.5", hi),
            "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful "
            "assistant.<|im_end|>\n" +
                turn);
  EXPECT_EQ(rendered("llama2", hi), "<s>[INST] Hi [/INST]");
}

TEST(TemplateFormat, Llama31SaysTheDate) {
  ChatSettings settings;
  settings.date = "2026-01-31";
  EXPECT_THAT(rendered("llama3.1", shortTalk, settings),
              HasSubstr("system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\nToday "
                        "Date: 31 Jan 2026\n\nBe brief.<|eot_id|>"));
}

TEST(TemplateFormat, QwenDeclaresCallsAndAnswersToolsInTags) {
  EXPECT_EQ(
      rendered("qwen3", weatherTalk(), withWeather()),
      "<|im_start|>system\n# Tools\n\nYou may call one or more functions to assist with the "
      "user query.\n\nYou are provided with function signatures within <tools></tools> XML "
      "tags:\n<tools>\n{\"type\": \"function\", \"function\": {\"name\": \"weather\", "
      "\"description\": \"Says it.\", \"parameters\": {\"type\": \"object\", \"properties\": "
      "{\"at\": {\"type\": \"string\"}}}}}\n</tools>\n\nFor each function call, return a json "
      "object with function name and arguments within <tool_call></tool_call> XML "
      "tags:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": "
      "<args-json-object>}\n</tool_call><|im_end|>\n<|im_start|>user\nRain?<|im_end|>\n"
      "<|im_start|>assistant\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"at\": "
      "\"Bonn\"}}\n</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\nrain\n"
      "</tool_response><|im_end|>\n<|im_start|>assistant\n");
}

TEST(TemplateFormat, Llama31DeclaresToolsToTheUserAndQuotesTheirAnswers) {
  std::string text = rendered("llama3.1", weatherTalk(), withWeather());
  EXPECT_THAT(text, HasSubstr("\n\nEnvironment: ipython\nCutting Knowledge Date: December 2023\n"));
  EXPECT_THAT(text, HasSubstr("Do not use variables.\n\n{\n    \"type\": \"function\",\n    "
                              "\"function\": {\n        \"name\": \"weather\","));
  EXPECT_THAT(text, HasSubstr("\n\nRain?<|eot_id|><|start_header_id|>assistant<|end_header_id|>"
                              "\n\n{\"name\": \"weather\", \"parameters\": {\"at\": "
                              "\"Bonn\"}}<|eot_id|><|start_header_id|>ipython<|end_header_id|>\n\n"
                              "\"rain\"<|eot_id|><|start_header_id|>assistant"));
}

TEST(TemplateFormat, Qwen3KeepsReasonsWhileTheQuestionIsOpen) {
  std::vector<ChatMessage> talk = weatherTalk();
  talk[1].reasoning = "Look it up.";
  EXPECT_THAT(rendered("qwen3", talk, withWeather()),
              HasSubstr("assistant\n<think>\nLook it up.\n</think>\n\n<tool_call>"));
  talk.push_back(said(ChatRole::Assistant, "Yes."));
  talk.push_back(said(ChatRole::User, "Sure?"));
  EXPECT_EQ(rendered("qwen3", talk, withWeather()).find("<think>"), std::string::npos);
}

TEST(TemplateFormat, MarkersInAnybodysTextAreOrdinaryCharacters) {
  for (const TemplateSpec &spec : templateSpecs()) {
    std::string all;
    for (std::string_view control : spec.controls)
      all += control;
    Tokenizer tokenizer = tokenizerOf(std::string(spec.name));
    auto controls = [&](const std::string &text) {
      std::vector<int32_t> ids = ChatFormat::named(tokenizer, spec.name)
                                     ->render(std::vector{said(ChatRole::User, text)}, {});
      EXPECT_THAT(tokenizer.decode(ids), HasSubstr(text));
      return std::count_if(ids.begin(), ids.end(), [](int32_t id) { return id >= 256; });
    };
    EXPECT_EQ(controls(all), controls("x")) << spec.name;
  }
}

TEST(TemplateFormat, OrdersThatAFormatCannotTakeAreRefusedByIndex) {
  for (const char *format : {"llama2", "mistral", "mistral-v3"}) {
    EXPECT_THAT(refusal(format, {said(ChatRole::Assistant, "Hi")}), HasSubstr("2: message 0 "));
    EXPECT_THAT(refusal(format, {said(ChatRole::User, "a"), said(ChatRole::User, "b")}),
                HasSubstr("2: message 1 "));
    EXPECT_THAT(refusal(format, {said(ChatRole::System, "a")}), HasSubstr("2: message 0 "));
  }
  EXPECT_THAT(refusal("zephyr", weatherTalk()), HasSubstr("2: message 1 calls a tool"));
  EXPECT_THAT(refusal("phi3", {}, withWeather()), HasSubstr("has no tools, 1 were given"));
  std::vector<ChatMessage> stray = weatherTalk();
  stray[2].toolCallId = "call_9";
  EXPECT_THAT(refusal("qwen3", stray, withWeather()), HasSubstr("2: message 2 answers"));
  EXPECT_THAT(refusal("qwen3", {stray[2]}, withWeather()), HasSubstr("2: message 0 is a tool's"));
}

TEST(TemplateFormat, HostileToolsAreRefusedByName) {
  ChatSettings settings = withWeather();
  settings.tools[0].parameters = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_THAT(refusal("qwen3", {}, settings), HasSubstr("2: the parameters of tool 'weather'"));
  settings.tools[0].parameters = "{";
  EXPECT_THAT(refusal("qwen3", {}, settings), HasSubstr("are no JSON schema"));
}

TEST(ChooseFormat, KnownTemplatesAreRecognisedByWhatTheyContain) {
  const std::pair<const char *, const char *> templates[] = {
      {"qwen3", "{{- '<|im_start|>' }}{{ '<think>' }}{{ '<tool_call>' }}<|im_end|>"},
      {"qwen2.5", "<|im_start|>You are Qwen, created by Alibaba Cloud. You are a helpful "
                  "assistant.<tool_call><|im_end|>"},
      {"qwen2", "<|im_start|>system\nYou are a helpful assistant.<|im_end|>"},
      {"chatml", "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>'}}"},
      {"llama3.1", "<|start_header_id|>Cutting Knowledge Date: December 2023<|eot_id|>"},
      {"llama3", "'<|start_header_id|>' + message['role'] + '<|end_header_id|>' '<|eot_id|>'"},
      {"phi3", "{{'<|user|>\n' + message['content'] + '<|end|>\n'}}<|assistant|>"},
      {"zephyr", "{{ '<|user|>\n' + message['content'] + eos_token }}<|assistant|>"},
      {"llama2", "[INST] <<SYS>> [/INST]"},
      {"mistral-v3", "[AVAILABLE_TOOLS] [INST] [/INST] eos_token"},
      {"mistral", "'[INST] ' + message['content'] + ' [/INST]' eos_token"}};
  for (auto [format, text] : templates)
    EXPECT_EQ(ChatFormat::choose(tokenizerOf(format), "llama", text)->name(), format);
}

TEST(ChooseFormat, UnknownTemplatesAreRefusedWithTheKnownNames) {
  Tokenizer bytes = test::byteTokenizer({});
  auto refused = [&](auto action) -> std::string {
    try {
      action();
      return "chosen";
    } catch (const Error &error) {
      return std::to_string(static_cast<int>(error.code)) + ": " + error.what();
    }
  };
  EXPECT_THAT(refused([&] { ChatFormat::choose(bytes, "llama", "{{ turn }}"); }),
              HasSubstr("4: the model's chat template is none of those known here. Known formats: "
                        "harmony, chatml, "));
  EXPECT_THAT(refused([&] { ChatFormat::choose(bytes, "llama", ""); }),
              HasSubstr("4: the model has no chat template."));
  EXPECT_THAT(refused([&] { ChatFormat::named(bytes, "jinja"); }), HasSubstr("2: there is no"));
  EXPECT_THAT(refused([&] { ChatFormat::choose(bytes, "gpt_oss", ""); }),
              HasSubstr("4: the chat format 'harmony' needs the token <|start|>"));
}

} // namespace
} // namespace inf
