#include "runtime/tokenizer/ByteAlphabet.h"

#include <array>
#include <cstdint>

namespace inf {
namespace {

constexpr int alphabetEnd = 256 + 68; // one past the highest code point of the alphabet

constexpr bool standsForItself(int byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

/// byteOf[code point] is the byte it stands for, or -1.
constexpr std::array<int16_t, alphabetEnd> makeByteOf() {
  std::array<int16_t, alphabetEnd> byteOf{};
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    byteOf[byte] = -1;
    if (!standsForItself(byte))
      byteOf[next++] = int16_t(byte);
  }
  for (int byte = 0; byte < 256; ++byte)
    if (standsForItself(byte))
      byteOf[byte] = int16_t(byte);
  return byteOf;
}

constexpr std::array<int16_t, alphabetEnd> byteOf = makeByteOf();

} // namespace

std::optional<std::string> bytesOfAlphabet(std::string_view token) {
  std::string out;
  out.reserve(token.size());
  for (size_t at = 0; at < token.size();) {
    uint8_t lead = uint8_t(token[at++]);
    int codePoint = lead;
    if (lead >= 0x80) { // the whole alphabet fits in two bytes of UTF-8
      if (lead < 0xC2 || lead > 0xDF || at == token.size() || (token[at] & 0xC0) != 0x80)
        return std::nullopt;
      codePoint = (lead & 0x1F) << 6 | (token[at++] & 0x3F);
    }
    if (codePoint >= alphabetEnd || byteOf[codePoint] < 0)
      return std::nullopt;
    out += char(byteOf[codePoint]);
  }
  return out;
}

} // namespace inf
