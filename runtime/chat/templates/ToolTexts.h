// How tools are declared to models, in the words that their published templates use.
#pragma once

#include <string>

#include "runtime/chat/Chat.h"

namespace inf {

/// Qwen 2.5 and 3: a section of the system message.
std::string qwenToolText(const std::vector<ChatTool> &tools);
/// Llama 3.1: in front of the first user's text.
std::string llamaToolText(const std::vector<ChatTool> &tools);
/// Llama 3.1: the lines that open the system message. `date`: "2026-01-31"; "" is the template's
/// own default.
std::string llamaDateText(const std::string &date, bool tools);

} // namespace inf
