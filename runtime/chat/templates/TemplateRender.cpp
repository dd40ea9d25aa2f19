#include "runtime/chat/templates/TemplateRender.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "runtime/chat/RequiredTool.h"
#include "runtime/chat/Schema.h"
#include "runtime/chat/templates/ToolTexts.h"

namespace inf {
namespace {

constexpr std::string_view blanks = " \t\r\n";

bool instructs(const ChatMessage &message) {
  return message.role == ChatRole::System || message.role == ChatRole::Developer;
}

std::string jsonString(const std::string &text) { return pythonJson(SchemaJson(text)); }

std::string_view without(std::string_view text, std::string_view characters) {
  size_t begin = text.find_first_not_of(characters);
  if (begin == std::string_view::npos)
    return "";
  return text.substr(begin, text.find_last_not_of(characters) - begin + 1);
}

} // namespace

TemplateRender::TemplateRender(const Tokenizer &tokenizer, const TemplateSpec &templateSpec,
                               std::span<const ChatMessage> allMessages,
                               const ChatSettings &chatSettings)
    : prompt(tokenizer), spec(templateSpec), messages(allMessages), settings(chatSettings) {
  while (leading < messages.size() && instructs(messages[leading]))
    ++leading;
  auto isUser = [&](size_t i) { return messages[i].role == ChatRole::User; };
  firstUser = lastUser = messages.size();
  for (size_t i = 0; i < messages.size(); ++i)
    if (isUser(i)) {
      firstUser = std::min(firstUser, i);
      lastUser = i;
    }
}

void TemplateRender::checkSettings() const {
  if (settings.browserTool || settings.pythonTool)
    fail(ErrorCode::Usage, "the chat format '{}' has no built-in tools. Leave them out.",
         spec.name);
  if (spec.tools == ToolStyle::None && !settings.tools.empty())
    fail(ErrorCode::Usage, "the chat format '{}' has no tools, {} were given. Leave them out.",
         spec.name, settings.tools.size());
}

/// Of formats in which instructions and turns have their fixed places.
void TemplateRender::checkTurns() const {
  for (size_t i = leading; i < messages.size(); ++i) {
    ChatRole expected = (i - leading) % 2 == 0 ? ChatRole::User : ChatRole::Assistant;
    if (messages[i].role != expected)
      fail(ErrorCode::Usage,
           "message {} can't stand there: in the chat format '{}' user and assistant take turns, "
           "the user begins, and instructions come first.",
           i, spec.name);
  }
  if (leading == messages.size() && leading > 0)
    fail(ErrorCode::Usage,
         "message {} has nobody to go to: the chat format '{}' needs a user's message.",
         leading - 1, spec.name);
}

std::string_view TemplateRender::shown(const std::string &text) const {
  return spec.trims ? without(text, blanks) : std::string_view(text);
}

void TemplateRender::mark(std::string_view text) { prompt.marks(text, spec.controls, spec.name); }

void TemplateRender::around(const RoleMarks &marks, std::string_view text) {
  mark(marks.before);
  prompt.text(text);
  mark(marks.after);
}

std::string TemplateRender::systemText() const {
  std::string text;
  for (size_t i = 0; i < leading; ++i)
    if (std::string_view words = shown(messages[i].content); !words.empty())
      text.append(text.empty() ? "" : "\n\n").append(words);
  return leading > 0 ? text : std::string(spec.defaultSystem);
}

void TemplateRender::systemMessage() {
  std::string text = systemText();
  bool tags = spec.tools == ToolStyle::Tags && !settings.tools.empty();
  if (tags)
    text += (text.empty() ? "" : "\n\n") + qwenToolText(settings.tools);
  if (spec.dates)
    text = llamaDateText(settings.date, !settings.tools.empty()) + text;
  if (!text.empty())
    around(spec.system, text);
}

void TemplateRender::user(size_t index) {
  size_t place = spec.systemPlace == SystemPlace::FirstUser ? firstUser : lastUser;
  mark(spec.user.before);
  if (spec.systemPlace != SystemPlace::Message && index == place)
    if (std::string text = systemText(); !text.empty())
      around(spec.system, text);
  if (spec.tools == ToolStyle::Llama && index == firstUser && !settings.tools.empty())
    prompt.text(llamaToolText(settings.tools));
  prompt.text(shown(messages[index].content));
  mark(spec.user.after);
}

void TemplateRender::assistant(size_t index) {
  const ChatMessage &message = messages[index];
  if (!message.toolCalls.empty() && spec.tools == ToolStyle::None)
    fail(ErrorCode::Usage, "message {} calls a tool, but the chat format '{}' has none.", index,
         spec.name);
  if (spec.tools == ToolStyle::Llama && message.toolCalls.size() > 1)
    fail(ErrorCode::Usage, "message {} calls {} tools; the chat format '{}' takes one at a time.",
         index, message.toolCalls.size(), spec.name);
  calls.see(message);
  mark(spec.assistant.before);
  // Reasoning stays while the question that it is about is open.
  bool open = lastUser == messages.size() || index > lastUser;
  if (spec.thinks && open && (!message.reasoning.empty() || index + 1 == messages.size()))
    prompt.text(fmt::format("<think>\n{}\n</think>\n\n", without(message.reasoning, "\n")));
  if (spec.tools == ToolStyle::Llama && !message.toolCalls.empty()) {
    const ChatToolCall &call = message.toolCalls.front();
    prompt.text(
        fmt::format("{{\"name\": {}, \"parameters\": {}}}", jsonString(call.name), call.arguments));
  } else {
    prompt.text(shown(message.content));
    for (size_t i = 0; i < message.toolCalls.size(); ++i)
      prompt.text(fmt::format("{}<tool_call>\n{{\"name\": {}, \"arguments\": {}}}\n</tool_call>",
                              i > 0 || !message.content.empty() ? "\n" : "",
                              jsonString(message.toolCalls[i].name),
                              message.toolCalls[i].arguments));
  }
  mark(spec.assistant.after);
}

void TemplateRender::toolAnswer(size_t index) {
  const ChatMessage &message = messages[index];
  if (spec.tools == ToolStyle::None)
    fail(ErrorCode::Usage, "message {} is a tool's answer, but the chat format '{}' has no tools.",
         index, spec.name);
  calls.answered(message, index); // refuses one to no call
  if (spec.tools == ToolStyle::Llama) {
    around({"<|start_header_id|>ipython<|end_header_id|>\n\n", "<|eot_id|>"},
           jsonString(message.content));
    return;
  }
  // Answers that follow each other share a message.
  if (index == 0 || messages[index - 1].role != ChatRole::Tool)
    mark("<|im_start|>user");
  prompt.text("\n<tool_response>\n" + message.content + "\n</tool_response>");
  if (index + 1 == messages.size() || messages[index + 1].role != ChatRole::Tool)
    mark("<|im_end|>\n");
}

void TemplateRender::message(size_t index) {
  switch (messages[index].role) {
  case ChatRole::System:
  case ChatRole::Developer:
    return around(spec.system, shown(messages[index].content));
  case ChatRole::User:
    return user(index);
  case ChatRole::Assistant:
    return assistant(index);
  case ChatRole::Tool:
    return toolAnswer(index);
  }
}

std::vector<int32_t> TemplateRender::run() {
  checkSettings();
  if (spec.alternates)
    checkTurns();
  mark(spec.begin);
  if (spec.systemPlace == SystemPlace::Message)
    systemMessage();
  for (size_t i = leading; i < messages.size(); ++i)
    message(i);
  mark(spec.generation);
  prompt.text(requiredOpening(spec, settings));
  return prompt.take();
}

std::string requiredOpening(const TemplateSpec &spec, const ChatSettings &settings) {
  if (!settings.requireTool)
    return "";
  std::string name = requiredToolName(settings);
  bool tags = spec.tools == ToolStyle::Tags;
  std::string call = name.empty() ? std::string("{\"name\": \"")
                                  : fmt::format("{{\"name\": {}, \"{}\": ", jsonString(name),
                                                tags ? "arguments" : "parameters");
  if (!tags)
    return call;
  return fmt::format("{}<tool_call>\n{}", spec.thinks ? "<think>\n\n</think>\n\n" : "", call);
}

} // namespace inf
