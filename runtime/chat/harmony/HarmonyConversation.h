// Messages as an API has them to messages as Harmony has them.
#pragma once

#include <span>
#include <vector>

#include "runtime/chat/Chat.h"
#include "runtime/chat/harmony/HarmonyMessage.h"

namespace inf {

/// System message, developer message (instructions: the leading system and developer messages,
/// joined by empty lines; tools), then the rest in order. An assistant's message becomes analysis,
/// then a preamble in commentary and its calls, or the final answer. Fails with Usage, naming the
/// message's index, for a tool's answer to no call.
std::vector<HarmonyMessage> harmonyConversation(std::span<const ChatMessage> messages,
                                                const ChatSettings &settings);

} // namespace inf
