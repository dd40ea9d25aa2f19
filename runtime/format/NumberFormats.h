// Conversions between the number formats of weights, in portable C++.
//
// Narrowing rounds to nearest, ties to even, as IEEE 754 does in its default mode; a value beyond
// the largest finite one becomes an infinity, a NaN stays a NaN. Widening is exact.
// Formulas: IEEE 754-2019 (binary16, binary32); bfloat16 is the upper half of a binary32; E2M1 and
// E8M0 are those of the OCP Microscaling Formats (MX) specification 1.0, sections 5.3.3 and 5.4.1.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace inf {

inline float bf16ToF32(uint16_t value) { return std::bit_cast<float>(uint32_t(value) << 16); }

/// For finite values only: one addition rounds, and the loop around it can be vectorized.
inline uint16_t finiteF32ToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline uint16_t f32ToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) <= 0x7f800000u)
    return finiteF32ToBf16(value); // an infinity has a zero mantissa: nothing to round
  const uint16_t upper = uint16_t(bits >> 16);
  // A NaN whose upper mantissa bits are all zero would turn into an infinity.
  return (upper & 0x7fu) ? upper : uint16_t(upper | 0x40u);
}

inline float f16ToF32(uint16_t value) {
  const uint32_t sign = uint32_t(value & 0x8000u) << 16;
  const uint32_t exponent = (value >> 10) & 0x1fu;
  const uint32_t mantissa = value & 0x3ffu;
  if (exponent == 0) { // subnormal: mantissa * 2^-24, exact in binary32
    const float magnitude = float(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  const uint32_t widened = exponent == 31 ? 255u : exponent + 112u; // bias 15 to 127
  return std::bit_cast<float>(sign | (widened << 23) | (mantissa << 13));
}

inline uint16_t f32ToF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = uint16_t((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) { // NaN: keep what fits of the payload, never an infinity
    const uint16_t payload = uint16_t((magnitude >> 13) & 0x3ffu);
    return uint16_t(sign | 0x7c00u | (payload ? payload : 0x200u));
  }
  if (magnitude >= 0x47800000u) // 2^16 and above
    return uint16_t(sign | 0x7c00u);
  if (magnitude < 0x38800000u) { // below 2^-14: subnormal
    // The unit in the last place of 0.5 is 2^-24, the f16 subnormal step: the addition rounds.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return uint16_t(sign | ((rounded - 0x38000000u) >> 13));
}

/// The 16 values of E2M1: bit 3 is the sign.
inline constexpr std::array<float, 16> mxfp4Values = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,
                                                      4.0f,  6.0f,  -0.0f, -0.5f, -1.0f, -1.5f,
                                                      -2.0f, -3.0f, -4.0f, -6.0f};

/// The E8M0 scale byte that means NaN.
inline constexpr uint8_t e8m0Nan = 255;

/// 2^(scale - 127), exact for 0..254 (scale 0 is the subnormal 2^-127); 255 gives a NaN.
inline float e8m0ToF32(uint8_t scale) {
  if (scale == 0)
    return std::bit_cast<float>(0x00400000u);
  return std::bit_cast<float>(scale == e8m0Nan ? 0x7fc00000u : uint32_t(scale) << 23);
}

/// Value of a 4-bit code (the low nibble of `code`) under a scale byte. Exact, but 2 * 2^127 and
/// beyond (scale bytes 253 and 254 with large codes) are infinities in binary32.
inline float mxfp4ToF32(uint8_t code, uint8_t scale) {
  return mxfp4Values[code & 15u] * e8m0ToF32(scale);
}

} // namespace inf
