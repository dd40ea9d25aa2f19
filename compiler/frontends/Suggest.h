// Helpers for error messages that name what a file says: short quotes and nearest known names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace inf {

/// The text in double quotes, control characters escaped, cut after some 60 bytes.
std::string quoteShort(std::string_view text);

/// " (did you mean \"heads\"?)" when a candidate is close to `name`, else "".
std::string suggestion(std::string_view name, const std::vector<std::string> &candidates);

/// How many names a message lists before it only counts them.
inline constexpr size_t shownNames = 10;

/// "a, b, c" of at most `limit` names, then "and 12 more".
std::string firstNames(const std::vector<std::string> &names, size_t limit = shownNames);

} // namespace inf
