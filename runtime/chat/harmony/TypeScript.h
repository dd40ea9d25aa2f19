// JSON schema to the TypeScript-like types in which Harmony declares the parameters of functions.
#pragma once

#include <string>

#include "runtime/chat/Chat.h"

namespace inf {

/// The type of the tool's parameters, as the published renderer writes it. What that doesn't know
/// (anyOf, $ref) is `any`. Fails as parseToolSchema does.
std::string typeScriptOf(const ChatTool &tool);

} // namespace inf
