// Text from a file or a user, made safe to show in a message.
#pragma once

#include <string>
#include <string_view>

namespace inf {

/// `text` in double quotes: printable ASCII as it is, every other byte as \xNN (a hostile file must
/// not reach the terminal), cut after 60 bytes with "…".
std::string quote(std::string_view text);

} // namespace inf
