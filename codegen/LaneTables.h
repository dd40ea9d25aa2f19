// Tables that vector instructions look into, as 32-bit words: the sixteen values of a 4-bit E2M1
// code (OCP Microscaling Formats v1.0: sign, two exponent bits, one mantissa bit), lane numbers.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

namespace inf {

inline constexpr std::array<float, 8> mxfp4Magnitudes = {0.0f, 0.5f, 1.0f, 1.5f,
                                                         2.0f, 3.0f, 4.0f, 6.0f};

/// Code -> bits of its f32 value; codes 8..15 are the negatives, 8 is -0.
inline std::vector<uint32_t> mxfp4CodeBits() {
  std::vector<uint32_t> bits;
  for (float sign : {1.0f, -1.0f})
    for (float magnitude : mxfp4Magnitudes)
      bits.push_back(std::bit_cast<uint32_t>(sign * magnitude));
  return bits;
}

/// Code -> the byte that integer kernels multiply with, twice its value + 16 (4..28), four codes a
/// word; the sixteen bytes as often as `words` has room.
inline std::vector<uint32_t> mxfp4CodeBytes(unsigned words) {
  std::vector<uint32_t> bytes(words);
  for (unsigned i = 0; i < 4 * words; ++i) {
    const int twice = static_cast<int>(2 * mxfp4Magnitudes[i % 8]) * (i % 16 < 8 ? 1 : -1);
    bytes[i / 4] |= static_cast<uint32_t>(twice + 16) << (8 * (i % 4));
  }
  return bytes;
}

inline std::vector<uint32_t> laneNumbers() {
  std::vector<uint32_t> numbers(16);
  std::iota(numbers.begin(), numbers.end(), 0u);
  return numbers;
}

} // namespace inf
