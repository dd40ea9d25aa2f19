#include "runtime/tools/chat/ConversationFile.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/base/Error.h"
#include "runtime/chat/Effort.h"

namespace inf {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t maxFileBytes = uint64_t(64) << 20;
constexpr int maxDepth = 16;

std::string_view nameOf(ChatRole role) {
  return role == ChatRole::Assistant ? "assistant" : "user";
}

Json messageJson(const ChatMessage &message) {
  Json json = {{"role", nameOf(message.role)}, {"content", message.content}};
  if (!message.reasoning.empty())
    json["reasoning"] = message.reasoning;
  for (const ChatToolCall &call : message.toolCalls)
    json["tool_calls"].push_back(
        {{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}});
  return json;
}

[[noreturn]] void refuse(const std::string &path, std::string_view what) {
  fail(ErrorCode::BadInput,
       "'{}' is no saved conversation: {}. Give a file that /save has written.", path, what);
}

std::string textOf(const Json &json, const char *key, const std::string &path) {
  auto found = json.find(key);
  if (found == json.end())
    return "";
  if (!found->is_string())
    refuse(path, fmt::format("expected text as \"{}\"", key));
  return found->get<std::string>();
}

std::vector<ChatToolCall> readCalls(const Json &json, const std::string &path) {
  std::vector<ChatToolCall> calls;
  auto found = json.find("tool_calls");
  if (found == json.end())
    return calls;
  if (!found->is_array())
    refuse(path, "expected a list as \"tool_calls\"");
  for (const Json &call : *found) {
    if (!call.is_object())
      refuse(path, "expected objects in \"tool_calls\"");
    calls.push_back(
        {textOf(call, "id", path), textOf(call, "name", path), textOf(call, "arguments", path)});
  }
  return calls;
}

ChatMessage readMessage(const Json &json, const std::string &path) {
  if (!json.is_object())
    refuse(path, "expected objects in \"messages\"");
  ChatMessage message;
  std::string role = textOf(json, "role", path);
  if (role != "user" && role != "assistant")
    refuse(path, fmt::format("expected role user or assistant, got '{}'", role));
  message.role = role == "user" ? ChatRole::User : ChatRole::Assistant;
  message.content = textOf(json, "content", path);
  message.reasoning = textOf(json, "reasoning", path);
  message.toolCalls = readCalls(json, path);
  return message;
}

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    fail(ErrorCode::Io, "cannot read '{}': {}. Check the path.", path, errnoText(errno));
  std::string bytes;
  char part[4096];
  while (file.read(part, sizeof part), file.gcount() > 0) {
    bytes.append(part, static_cast<size_t>(file.gcount()));
    if (bytes.size() > maxFileBytes)
      fail(ErrorCode::TooLong, "'{}' has more than {} bytes, which no conversation has.", path,
           maxFileBytes);
  }
  if (file.bad())
    fail(ErrorCode::Io, "cannot read '{}': {}. Check that it is a file.", path, errnoText(errno));
  return bytes;
}

void writeFile(const std::string &path, const std::string &bytes) {
  std::string beside = fmt::format("{}.tmp-{}", path, getpid());
  std::FILE *file = std::fopen(beside.c_str(), "wbx");
  bool whole = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() &&
               std::fflush(file) == 0 && fsync(fileno(file)) == 0;
  int error = errno;
  if (file && std::fclose(file) != 0 && whole) {
    error = errno;
    whole = false;
  }
  if (whole && std::rename(beside.c_str(), path.c_str()) == 0)
    return;
  if (whole)
    error = errno;
  if (file)
    std::remove(beside.c_str());
  fail(ErrorCode::Io, "cannot write '{}': {}. Free space or save elsewhere.", path,
       errnoText(error));
}

} // namespace

void saveConversation(const Conversation &conversation, const std::string &path) {
  Json json = {{"version", 1},
               {"system", conversation.options().system},
               {"effort", effortName(conversation.options().settings.effort)},
               {"messages", Json::array()}};
  for (const ChatMessage &message : conversation.messages())
    json["messages"].push_back(messageJson(message));
  writeFile(path, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

void loadConversation(Conversation &conversation, const std::string &path) {
  auto bounded = [&](int depth, Json::parse_event_t, Json &) {
    if (depth > maxDepth)
      refuse(path, "it is nested too deep");
    return true;
  };
  Json json = Json::parse(readFile(path), bounded, false);
  if (!json.is_object() || json.value("version", Json()) != 1)
    refuse(path, "expected a JSON object with \"version\": 1");
  auto list = json.find("messages");
  if (list == json.end() || !list->is_array())
    refuse(path, "expected a list as \"messages\"");
  std::vector<ChatMessage> messages;
  for (const Json &message : *list)
    messages.push_back(readMessage(message, path));
  std::optional<ReasoningEffort> effort = effortNamed(textOf(json, "effort", path));
  if (!effort)
    refuse(path, "expected low, medium or high as \"effort\"");
  conversation.options().system = textOf(json, "system", path);
  conversation.options().settings.effort = *effort;
  conversation.replaceMessages(std::move(messages));
}

} // namespace inf
