// The tool that settings say must be called.
#pragma once

#include <string>

#include "runtime/chat/Chat.h"

namespace inf {

/// The name of the tool to call, "" when any will do. Fails with Usage when settings require a tool
/// and declare none, or not that one.
std::string requiredToolName(const ChatSettings &settings);

} // namespace inf
