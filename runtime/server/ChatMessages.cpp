#include "runtime/server/ChatMessages.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace inf {
namespace {

using nlohmann::json;

constexpr size_t mostParts = 4096, mostNameBytes = 64;

ChatRole roleOf(RequestFields &fields) {
  fields.need("role");
  const std::string role =
      *fields.choice("role", {"system", "developer", "user", "assistant", "tool"});
  static const std::map<std::string, ChatRole> roles = {{"system", ChatRole::System},
                                                        {"developer", ChatRole::Developer},
                                                        {"user", ChatRole::User},
                                                        {"assistant", ChatRole::Assistant},
                                                        {"tool", ChatRole::Tool}};
  return roles.at(role);
}

/// A function's name is written into the prompt and looked for in the answer.
std::string readName(RequestFields &fields) {
  const std::string name = fields.needString("name");
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  if (name.empty() || name.size() > mostNameBytes ||
      !std::all_of(name.begin(), name.end(), allowed))
    throw invalidField(fields.at("name"), "invalid_value",
                       fmt::format("is no function's name; expected 1 to {} letters, digits, '_' "
                                   "or '-'.",
                                   mostNameBytes));
  return name;
}

ChatToolCall readCall(const json &value, const std::string &where) {
  RequestFields fields(value, where);
  fields.choice("type", {"function"});
  ChatToolCall call;
  call.id = fields.needString("id");
  RequestFields function(fields.need("function"), fields.at("function"));
  call.name = readName(function);
  call.arguments = function.string("arguments").value_or("");
  function.expectNothingElse();
  fields.ignore({"index"});
  fields.expectNothingElse();
  return call;
}

/// Servers call it by either name; some answers carry both.
std::string readReasoning(RequestFields &fields) {
  const std::optional<std::string> first = fields.string("reasoning_content");
  const std::optional<std::string> second = fields.string("reasoning");
  if (first && second && !first->empty() && !second->empty() && *first != *second)
    throw invalidField(fields.at("reasoning"), "invalid_value",
                       "differs from reasoning_content; give one of them.");
  return first && !first->empty() ? *first : second.value_or("");
}

void readAssistant(RequestFields &fields, ChatMessage &message,
                   std::vector<std::string> &warnings) {
  message.reasoning = readReasoning(fields);
  const std::vector<const json *> calls = fields.array("tool_calls", mostToolCalls);
  for (size_t i = 0; i < calls.size(); ++i)
    message.toolCalls.push_back(
        readCall(*calls[i], fmt::format("{}/{}", fields.at("tool_calls"), i)));
  fields.unsupported("function_call", {}, "Use tool_calls.");
  fields.unsupported("audio", {}, "Only text can be given.");
  fields.warnOf({"refusal"}, warnings);
  fields.ignore({"annotations"});
}

ChatMessage readMessage(const json &value, const std::string &where,
                        std::vector<std::string> &warnings) {
  RequestFields fields(value, where);
  ChatMessage message;
  message.role = roleOf(fields);
  if (message.role == ChatRole::Assistant)
    readAssistant(fields, message, warnings);
  if (message.role == ChatRole::Tool)
    message.toolCallId = fields.needString("tool_call_id");
  if (const json *content = fields.find("content"))
    message.content = readText(*content, fields.at("content"), {"text", "refusal"});
  else if (message.toolCalls.empty() && message.reasoning.empty())
    throw invalidField(fields.at("content"), "missing_required_parameter", "is missing.");
  message.name = fields.string("name").value_or("");
  if (message.role != ChatRole::Tool) // a tool's is that of the call it answers
    fields.warnOf({"name"}, warnings);
  fields.expectNothingElse();
  return message;
}

ChatTool readFunction(RequestFields &function, std::vector<std::string> &warnings) {
  ChatTool tool;
  tool.name = readName(function);
  tool.description = function.string("description").value_or("");
  if (const json *parameters = function.find("parameters")) {
    if (!parameters->is_object())
      throw invalidField(function.at("parameters"), "invalid_type", "expects a JSON schema.");
    tool.parameters = parameters->dump(-1, ' ', false, json::error_handler_t::replace);
  }
  if (function.boolean("strict").value_or(false))
    warnings.push_back(fmt::format("strict of tool {} is not enforced", tool.name));
  return tool;
}

ChatTool readTool(const json &value, const std::string &where, bool nested,
                  std::vector<std::string> &warnings) {
  RequestFields fields(value, where);
  fields.need("type");
  if (*fields.string("type") != "function")
    fields.refuse("type", "unsupported_parameter", "'function'");
  if (!nested) {
    ChatTool tool = readFunction(fields, warnings);
    fields.expectNothingElse();
    return tool;
  }
  RequestFields function(fields.need("function"), fields.at("function"));
  ChatTool tool = readFunction(function, warnings);
  function.expectNothingElse();
  fields.expectNothingElse();
  return tool;
}

/// {"type": "function", "function": {"name"}}, or {"type": "function", "name"}.
std::string readNamedChoice(RequestFields &fields, bool nested) {
  const json &value = fields.need("tool_choice");
  RequestFields choice(value, fields.at("tool_choice"));
  choice.need("type");
  if (*choice.string("type") != "function")
    choice.refuse("type", "unsupported_parameter", "'function'");
  std::string name;
  if (nested) {
    RequestFields function(choice.need("function"), choice.at("function"));
    name = function.needString("name");
    function.expectNothingElse();
  } else {
    name = choice.needString("name");
  }
  choice.expectNothingElse();
  return name;
}

void readToolChoice(RequestFields &fields, bool nested, ChatSettings &settings) {
  const json *choice = fields.find("tool_choice");
  if (!choice)
    return;
  if (choice->is_string()) {
    const std::string word = *fields.choice("tool_choice", {"none", "auto", "required"});
    if (word == "none")
      settings.tools.clear();
    settings.requireTool = word == "required";
  } else {
    settings.requireTool = true;
    settings.requiredTool = readNamedChoice(fields, nested);
  }
  const auto named = [&](const ChatTool &tool) { return tool.name == settings.requiredTool; };
  if (settings.requireTool && settings.tools.empty())
    throw invalidField(fields.at("tool_choice"), "invalid_value", "needs tools.");
  if (!settings.requiredTool.empty() &&
      std::none_of(settings.tools.begin(), settings.tools.end(), named))
    throw invalidField(fields.at("tool_choice"), "invalid_value", "names none of the tools.");
}

} // namespace

std::string readText(const json &content, const std::string &where,
                     std::initializer_list<const char *> types) {
  if (content.is_string())
    return content.get<std::string>();
  if (!content.is_array() || content.size() > mostParts)
    throw invalidField(where, "invalid_type",
                       fmt::format("expects a string or at most {} parts.", mostParts));
  std::string text;
  for (size_t i = 0; i < content.size(); ++i) {
    RequestFields part(content[i], fmt::format("{}/{}", where, i));
    part.need("type");
    const std::string type = *part.string("type");
    if (std::find(types.begin(), types.end(), type) == types.end())
      part.refuse("type", "unsupported_content", fmt::format("'{}'", fmt::join(types, "' or '")));
    text += part.needString(type == "refusal" ? "refusal" : "text");
    part.ignore({"annotations", "logprobs"});
    part.expectNothingElse();
  }
  return text;
}

std::vector<ChatMessage> readChatMessages(RequestFields &fields,
                                          std::vector<std::string> &warnings) {
  fields.need("messages");
  const std::vector<const json *> values = fields.array("messages", mostMessages);
  if (values.empty())
    throw invalidField(fields.at("messages"), "invalid_value", "is empty.");
  std::vector<ChatMessage> messages;
  std::vector<std::string> pointers;
  for (size_t i = 0; i < values.size(); ++i) {
    pointers.push_back(fmt::format("{}/{}", fields.at("messages"), i));
    messages.push_back(readMessage(*values[i], pointers.back(), warnings));
  }
  nameToolAnswers(messages, pointers);
  return messages;
}

void nameToolAnswers(std::vector<ChatMessage> &messages, const std::vector<std::string> &pointers) {
  std::map<std::string, std::string> names; // of calls, by id
  for (size_t i = 0; i < messages.size(); ++i) {
    for (const ChatToolCall &call : messages[i].toolCalls)
      names[call.id] = call.name;
    if (messages[i].role != ChatRole::Tool)
      continue;
    const auto call = names.find(messages[i].toolCallId);
    if (call == names.end())
      throw invalidField(pointers[i], "invalid_value",
                         "answers a call that no message before it made.");
    if (!messages[i].name.empty() && messages[i].name != call->second)
      throw invalidField(pointers[i], "invalid_value",
                         "has another name than the call that it answers.");
    messages[i].name = call->second;
  }
}

ReasoningEffort readEffort(RequestFields &fields, const char *key) {
  const std::optional<std::string> effort = fields.choice(key, {"low", "medium", "high"});
  if (!effort || *effort == "medium")
    return ReasoningEffort::Medium;
  return *effort == "low" ? ReasoningEffort::Low : ReasoningEffort::High;
}

void readTools(RequestFields &fields, bool nested, const ChatFormat &format, ChatSettings &settings,
               std::vector<std::string> &warnings) {
  const std::vector<const json *> values = fields.array("tools", mostTools);
  for (size_t i = 0; i < values.size(); ++i)
    settings.tools.push_back(
        readTool(*values[i], fmt::format("{}/{}", fields.at("tools"), i), nested, warnings));
  for (size_t i = 0; i < settings.tools.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (settings.tools[i].name == settings.tools[j].name)
        throw invalidField(fmt::format("{}/{}", fields.at("tools"), i), "invalid_value",
                           "has the name of a tool before it.");
  readToolChoice(fields, nested, settings);
  if (!settings.tools.empty() && !format.hasTools())
    throw invalidField(
        fields.at("tools"), "unsupported_parameter",
        fmt::format("is not supported by this model: its format {} has none; expected null or []. "
                    "Describe the functions in a message.",
                    format.name()));
}

} // namespace inf
