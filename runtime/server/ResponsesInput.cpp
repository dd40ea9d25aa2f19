#include "runtime/server/ResponsesInput.h"

#include <fmt/format.h>

#include "runtime/server/ChatMessages.h"

namespace inf {
namespace {

using nlohmann::json;

/// Builds messages out of items that come one after the other.
class Conversation {
public:
  explicit Conversation(std::vector<std::string> &warningsTo) : warnings(warningsTo) {}
  void add(const json &value, const std::string &where);
  std::vector<ChatMessage> take();

private:
  void addMessage(RequestFields &fields);
  void addCall(RequestFields &fields);
  void addOutput(RequestFields &fields);
  void addReasoning(RequestFields &fields);
  ChatMessage &push(ChatRole role);

  std::vector<std::string> &warnings;
  std::vector<ChatMessage> messages;
  std::vector<std::string> pointers; ///< of the item that began each message
  std::string where;                 ///< of the current item
  std::string reasoning;             ///< of the assistant's message to come
};

ChatMessage &Conversation::push(ChatRole role) {
  ChatMessage message;
  message.role = role;
  if (role == ChatRole::Assistant)
    message.reasoning = std::exchange(reasoning, {});
  messages.push_back(std::move(message));
  pointers.push_back(where);
  return messages.back();
}

void Conversation::addMessage(RequestFields &fields) {
  fields.need("role");
  const std::string role = *fields.choice("role", {"system", "developer", "user", "assistant"});
  const ChatRole kind = role == "system"      ? ChatRole::System
                        : role == "developer" ? ChatRole::Developer
                        : role == "user"      ? ChatRole::User
                                              : ChatRole::Assistant;
  push(kind).content = readText(fields.need("content"), fields.at("content"),
                                {"input_text", "output_text", "refusal"});
  fields.warnOf({"phase"}, warnings);
}

void Conversation::addCall(RequestFields &fields) {
  const bool joins = !messages.empty() && messages.back().role == ChatRole::Assistant;
  ChatMessage &message = joins ? messages.back() : push(ChatRole::Assistant);
  if (message.reasoning.empty())
    message.reasoning = std::exchange(reasoning, {});
  message.toolCalls.push_back(
      {fields.needString("call_id"), fields.needString("name"), fields.needString("arguments")});
}

void Conversation::addOutput(RequestFields &fields) {
  ChatMessage &message = push(ChatRole::Tool);
  message.toolCallId = fields.needString("call_id");
  message.content = readText(fields.need("output"), fields.at("output"), {"input_text"});
}

void Conversation::addReasoning(RequestFields &fields) {
  if (const json *content = fields.find("content"))
    reasoning += readText(*content, fields.at("content"), {"reasoning_text"});
  fields.warnOf({"summary", "encrypted_content"}, warnings);
}

void Conversation::add(const json &value, const std::string &pointer) {
  where = pointer;
  RequestFields fields(value, where);
  const std::string type = fields.string("type").value_or("message");
  if (type == "message")
    addMessage(fields);
  else if (type == "function_call")
    addCall(fields);
  else if (type == "function_call_output")
    addOutput(fields);
  else if (type == "reasoning")
    addReasoning(fields);
  else
    fields.refuse("type", "unsupported_parameter",
                  "'message', 'function_call', 'function_call_output' or 'reasoning'");
  fields.ignore({"id", "status"});
  fields.expectNothingElse();
}

std::vector<ChatMessage> Conversation::take() {
  nameToolAnswers(messages, pointers);
  return std::move(messages);
}

} // namespace

std::vector<ChatMessage> readResponsesInput(RequestFields &fields,
                                            std::vector<std::string> &warnings) {
  Conversation conversation(warnings);
  const json &input = fields.need("input");
  if (input.is_string())
    conversation.add({{"role", "user"}, {"content", input}}, fields.at("input"));
  else
    for (const json *item : fields.array("input", mostMessages))
      conversation.add(*item, fmt::format("{}/{}", fields.at("input"), item - &input.front()));
  std::vector<ChatMessage> messages = conversation.take();
  if (messages.empty())
    throw invalidField(fields.at("input"), "invalid_value", "has no messages.");
  if (auto instructions = fields.string("instructions")) {
    ChatMessage message;
    message.role = ChatRole::Developer;
    message.content = std::move(*instructions);
    messages.insert(messages.begin(), std::move(message));
  }
  return messages;
}

} // namespace inf
