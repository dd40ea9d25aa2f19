// A conversation as a JSON file: {"version": 1, "system": …, "effort": …, "messages": [{"role",
// "content", "reasoning", "tool_calls"}]}.
#pragma once

#include <string>

#include "runtime/tools/chat/Conversation.h"

namespace inf {

/// Writes beside and renames: a failure leaves an older file as it was. Fails with Io.
void saveConversation(const Conversation &conversation, const std::string &path);

/// Replaces messages, instructions and effort. Fails with Io (can't be read), BadInput (no such
/// file of ours), TooLong (above 64 MiB), and then changes nothing.
void loadConversation(Conversation &conversation, const std::string &path);

} // namespace inf
