// The names of reasoning efforts.
#pragma once

#include <optional>
#include <string_view>

#include "runtime/chat/Chat.h"

namespace inf {

std::string_view effortName(ReasoningEffort effort); ///< "low", "medium", "high"
std::optional<ReasoningEffort> effortNamed(std::string_view name);

} // namespace inf
