#include "runtime/tokenizer/Base64.h"

#include <cstdint>

namespace inf {
namespace {

int valueOf(char c) {
  if (c >= 'A' && c <= 'Z')
    return c - 'A';
  if (c >= 'a' && c <= 'z')
    return c - 'a' + 26;
  if (c >= '0' && c <= '9')
    return c - '0' + 52;
  if (c == '+')
    return 62;
  return c == '/' ? 63 : -1;
}

} // namespace

std::optional<std::string> decodeBase64(std::string_view text) {
  if (text.size() % 4 != 0)
    return std::nullopt;
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding)
    text.remove_suffix(1);

  std::string out;
  out.reserve(text.size() * 3 / 4);
  uint32_t bits = 0;
  int held = 0; // bits not yet written: 0, 2 or 4 after each whole byte
  for (char c : text) {
    int value = valueOf(c);
    if (value < 0)
      return std::nullopt;
    bits = bits << 6 | uint32_t(value);
    held += 6;
    if (held >= 8) {
      held -= 8;
      out += char(bits >> held & 0xFF);
    }
  }
  if (bits & ((1u << held) - 1))
    return std::nullopt;
  return out;
}

} // namespace inf
