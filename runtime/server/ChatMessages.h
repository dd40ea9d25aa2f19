// Messages and tools of /v1/chat/completions.
#pragma once

#include <string>
#include <vector>

#include "runtime/chat/Chat.h"
#include "runtime/server/RequestFields.h"

namespace inf {

inline constexpr size_t mostMessages = 4096, mostTools = 128, mostToolCalls = 128;

/// Fails with ApiError 400, naming the part, for content that is no text. What of the messages does
/// nothing goes to `warnings`.
std::vector<ChatMessage> readChatMessages(RequestFields &fields,
                                          std::vector<std::string> &warnings);

/// Adds `tools`, `tool_choice`, to the settings; the two differ in how deep a function's
/// fields lie: `nested` is {"type": "function", "function": {...}}, as chat completions have it,
/// else {"type": "function", "name", ...}, as responses do. Whether a tool of `strict` was given
/// goes to `warnings`.
void readTools(RequestFields &fields, bool nested, const ChatFormat &format, ChatSettings &settings,
               std::vector<std::string> &warnings);

/// Fails when it is none of the efforts that formats know.
ReasoningEffort readEffort(RequestFields &fields, const char *key);

/// Text of a string, or of a list of {"type": one of `types`, "text"}.
std::string readText(const nlohmann::json &content, const std::string &where,
                     std::initializer_list<const char *> types);

/// Fails with ApiError 400 when the call that a tool's answer names was not made before it; gives
/// each answer the name of its function.
void nameToolAnswers(std::vector<ChatMessage> &messages, const std::vector<std::string> &pointers);

} // namespace inf
