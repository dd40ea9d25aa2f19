// A tool call that a model wrote as JSON: {"name": "f", "arguments": {…}}.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace inf {

struct CallText {
  std::string name;
  std::string arguments; ///< as generated, not written anew; "{}" when there are none
  bool sound = true;     ///< all of it is JSON
};

/// Reads what can be read, a cut or unbalanced text too: nullopt when it names no function. Llama
/// calls the arguments "parameters". Never fails.
std::optional<CallText> readCallText(std::string_view text);

} // namespace inf
