// Base64 (RFC 4648, section 4), as token files use it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace inf {

/// The bytes, or nothing when `text` is not canonical base64: a foreign character, a length that is
/// no multiple of 4, padding inside, or bits set that no byte uses.
std::optional<std::string> decodeBase64(std::string_view text);

} // namespace inf
