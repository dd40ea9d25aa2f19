#include "runtime/tokenizer/SafeCuts.h"

#include <algorithm>
#include <bit>

namespace inf {

void SafeCuts::reserve(size_t tokenBytes) {
  // Most pairs repeat, so about every twentieth bit is set; 2^22 of them fit a CPU's nearer caches.
  bitCount = std::clamp<size_t>(std::bit_ceil(tokenBytes), 1 << 12, 1 << 22);
  bits.assign(bitCount / 64, 0);
}

void SafeCuts::addToken(std::string_view token) {
  uint32_t before = nothing;
  for (size_t at = 0; at < token.size();) {
    size_t length = 1;
    uint32_t now = characterAt(token, at, length);
    if (at > 0)
      bits[placeOf(before, now) / 64] |= uint64_t(1) << (placeOf(before, now) % 64);
    before = now;
    at += length;
  }
}

} // namespace inf
