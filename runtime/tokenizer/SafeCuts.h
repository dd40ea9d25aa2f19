// Where a long text may be cut before merging without changing what merging gives.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/Utf8.h"

namespace inf {

/// Two neighbouring characters can only end up in one token if some token has them side by side.
/// Where none has, nothing merges across, and both sides can be merged by themselves. Pairs are
/// remembered by hash: one taken for another leaves a cut out, which is slower but not wrong.
class SafeCuts {
public:
  /// All tokens that merging may give, which must be well-formed UTF-8. Without any, nothing is
  /// cut.
  void reserve(size_t tokenBytes);
  void addToken(std::string_view token);

  /// Calls `emit(std::string_view)` for each part of `text`; together they are `text`.
  template <typename Emit> void forEach(std::string_view text, Emit &&emit) const {
    if (bits.empty())
      return emit(text);
    size_t begin = 0;
    uint32_t before = nothing;
    for (size_t at = 0; at < text.size();) {
      size_t length = 1;
      uint32_t now = characterAt(text, at, length);
      if (at > begin && !together(before, now)) {
        emit(text.substr(begin, at - begin));
        begin = at;
      }
      before = now;
      at += length;
    }
    if (begin < text.size())
      emit(text.substr(begin));
  }

private:
  static constexpr uint32_t nothing = 0x120000; ///< above all code points and broken bytes

  /// The code point, or a number above them all for a byte that is not UTF-8.
  static uint32_t characterAt(std::string_view text, size_t at, size_t &length) {
    uint8_t lead = uint8_t(text[at]);
    if (lead < 0x80)
      return lead;
    Utf8Sequence sequence = firstSequence(text.substr(at, 4));
    if (sequence.kind != Utf8Kind::Valid)
      return 0x110000u + lead;
    length = sequence.length;
    return codePointOf(text.substr(at, length));
  }

  size_t placeOf(uint32_t left, uint32_t right) const {
    return size_t((uint64_t(left) << 32 | right) * 0x9E3779B97F4A7C15u >> 32) & (bitCount - 1);
  }
  bool together(uint32_t left, uint32_t right) const {
    size_t place = placeOf(left, right);
    return bits[place / 64] >> (place % 64) & 1;
  }

  size_t bitCount = 0;        ///< a power of two
  std::vector<uint64_t> bits; ///< [bitCount / 64] which pairs some token has
};

} // namespace inf
