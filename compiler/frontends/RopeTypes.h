// Types of rope by name; ModelDesc.h says what each does.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace inf {

inline constexpr std::array<std::string_view, 7> ropeTypes = {
    "default", "linear", "dynamic", "llama3", "yarn", "longrope", "divided"};

inline bool isRopeType(std::string_view type) {
  return std::find(ropeTypes.begin(), ropeTypes.end(), type) != ropeTypes.end();
}

/// Types that may scale cos and sin.
inline bool hasAttentionFactor(std::string_view type) {
  return type == "yarn" || type == "longrope" || type == "divided";
}

} // namespace inf
