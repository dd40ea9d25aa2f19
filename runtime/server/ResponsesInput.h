// The items of /v1/responses as messages.
#pragma once

#include <string>
#include <vector>

#include "runtime/chat/Chat.h"
#include "runtime/server/RequestFields.h"

namespace inf {

/// `instructions` as a developer message, then `input`: a string, or messages, function calls,
/// their outputs and reasoning. Reasoning and calls join the assistant's message they belong to.
/// Fails with ApiError 400, naming the item. What does nothing goes to `warnings`.
std::vector<ChatMessage> readResponsesInput(RequestFields &fields,
                                            std::vector<std::string> &warnings);

} // namespace inf
