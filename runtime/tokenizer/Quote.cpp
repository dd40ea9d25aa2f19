#include "runtime/tokenizer/Quote.h"

#include <cstdint>
#include <iterator>

#include <fmt/format.h>

namespace inf {

std::string quote(std::string_view text) {
  constexpr size_t shown = 60; // enough to recognise a token or a type, short enough for one line
  std::string out = "\"";
  for (char c : text.substr(0, shown)) {
    if (c >= 0x20 && c < 0x7F && c != '"')
      out += c;
    else
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", uint8_t(c));
  }
  out += text.size() > shown ? "…\"" : "\"";
  return out;
}

} // namespace inf
