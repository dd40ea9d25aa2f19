// Server-sent events: how a stream of JSON is framed.
#pragma once

#include <string>
#include <string_view>

namespace inf {

/// "data: JSON\n\n"; `json` has no line break.
std::string sseData(std::string_view json);
/// "event: NAME\ndata: JSON\n\n"
std::string sseEvent(std::string_view name, std::string_view json);
inline constexpr std::string_view sseDone = "data: [DONE]\n\n";

} // namespace inf
