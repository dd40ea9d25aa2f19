#include "runtime/tokenizer/Utf8.h"

#include <cstdint>
#include <cstring>

namespace inf {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD"; // U+FFFD

/// What must follow a lead byte: how many bytes, and the range of the first of them. The ranges of
/// Table 3-7 exclude overlong forms (E0, F0), surrogates (ED) and code points too high (F4).
struct Follow {
  size_t count;
  uint8_t low, high;
};

Follow followOf(uint8_t lead) {
  if (lead >= 0xC2 && lead <= 0xDF)
    return {1, 0x80, 0xBF};
  if (lead >= 0xE0 && lead <= 0xEF)
    return {2, uint8_t(lead == 0xE0 ? 0xA0 : 0x80), uint8_t(lead == 0xED ? 0x9F : 0xBF)};
  if (lead >= 0xF0 && lead <= 0xF4)
    return {3, uint8_t(lead == 0xF0 ? 0x90 : 0x80), uint8_t(lead == 0xF4 ? 0x8F : 0xBF)};
  return {0, 0, 0};
}

/// Bytes of the ASCII prefix, eight at a time: most text is ASCII.
size_t asciiPrefix(std::string_view bytes) {
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + at, 8);
    if (word & 0x8080808080808080u)
      break;
  }
  while (at < bytes.size() && uint8_t(bytes[at]) < 0x80)
    ++at;
  return at;
}

/// Appends `bytes` to `out`, replacing what is Invalid; returns the bytes consumed, which are all
/// but an Incomplete tail.
size_t appendWellFormed(std::string &out, std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    size_t valid = validPrefix(bytes.substr(at));
    out.append(bytes, at, valid);
    at += valid;
    if (at == bytes.size())
      break;
    Utf8Sequence bad = firstSequence(bytes.substr(at));
    if (bad.kind == Utf8Kind::Incomplete)
      break;
    out += replacement;
    at += bad.length;
  }
  return at;
}

} // namespace

Utf8Sequence firstSequence(std::string_view bytes) {
  uint8_t lead = uint8_t(bytes[0]);
  if (lead < 0x80)
    return {Utf8Kind::Valid, 1};
  Follow follow = followOf(lead);
  if (follow.count == 0)
    return {Utf8Kind::Invalid, 1};
  for (size_t i = 1; i <= follow.count; ++i) {
    if (i == bytes.size())
      return {Utf8Kind::Incomplete, i};
    uint8_t low = i == 1 ? follow.low : 0x80, high = i == 1 ? follow.high : 0xBF;
    if (uint8_t(bytes[i]) < low || uint8_t(bytes[i]) > high)
      return {Utf8Kind::Invalid, i};
  }
  return {Utf8Kind::Valid, follow.count + 1};
}

uint32_t codePointOf(std::string_view sequence) {
  uint8_t lead = uint8_t(sequence[0]);
  if (sequence.size() == 1)
    return lead;
  uint32_t code = lead & (0x7Fu >> sequence.size());
  for (char c : sequence.substr(1))
    code = code << 6 | (uint8_t(c) & 0x3Fu);
  return code;
}

size_t lastSequence(std::string_view bytes) {
  size_t last = bytes.size() - 1;
  for (size_t begin = last; begin + 4 > last && begin <= last; --begin) // wraps below 0
    if ((bytes[begin] & 0xC0) != 0x80) {
      Utf8Sequence sequence = firstSequence(bytes.substr(begin));
      return sequence.kind == Utf8Kind::Valid && begin + sequence.length == bytes.size() ? begin
                                                                                         : last;
    }
  return last;
}

size_t validPrefix(std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    at += asciiPrefix(bytes.substr(at));
    if (at == bytes.size())
      break;
    Utf8Sequence sequence = firstSequence(bytes.substr(at));
    if (sequence.kind != Utf8Kind::Valid)
      break;
    at += sequence.length;
  }
  return at;
}

size_t invalidPrefix(std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    Utf8Sequence sequence = firstSequence(bytes.substr(at));
    if (sequence.kind == Utf8Kind::Valid)
      break;
    at += sequence.length;
  }
  return at;
}

std::string takeWellFormed(std::string &pending) {
  std::string out;
  size_t taken = appendWellFormed(out, pending);
  pending.erase(0, taken);
  return out;
}

std::string toWellFormed(std::string_view bytes) {
  std::string out;
  if (appendWellFormed(out, bytes) < bytes.size())
    out += replacement;
  return out;
}

} // namespace inf
