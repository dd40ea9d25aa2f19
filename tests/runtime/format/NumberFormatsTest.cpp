#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "runtime/format/NumberFormats.h"

namespace inf {
namespace {

/// Value of a binary format with `exponentBits` and `mantissaBits`, straight from the definition.
double decode(uint32_t bits, int exponentBits, int mantissaBits) {
  const int bias = (1 << (exponentBits - 1)) - 1;
  const uint32_t mantissa = bits & ((1u << mantissaBits) - 1);
  const int exponent = int((bits >> mantissaBits) & ((1u << exponentBits) - 1));
  const double sign = bits >> (exponentBits + mantissaBits) ? -1 : 1;
  if (exponent == (1 << exponentBits) - 1)
    return mantissa ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0)
    return sign * std::ldexp(double(mantissa), 1 - bias - mantissaBits);
  return sign * std::ldexp(1 + std::ldexp(double(mantissa), -mantissaBits), exponent - bias);
}

void expectSame(float found, double expected, uint32_t bits) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(found)) << bits;
    return;
  }
  EXPECT_EQ(double(found), expected) << bits;
  EXPECT_EQ(std::signbit(found), std::signbit(expected)) << bits;
}

TEST(NumberFormats, EveryBf16WidensToItsValueAndComesBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float wide = bf16ToF32(uint16_t(bits));
    expectSame(wide, decode(bits, 8, 7), bits);
    EXPECT_EQ(f32ToBf16(wide), bits);
  }
}

TEST(NumberFormats, EveryF16WidensToItsValueAndComesBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float wide = f16ToF32(uint16_t(bits));
    expectSame(wide, decode(bits, 5, 10), bits);
    EXPECT_EQ(f32ToF16(wide), bits);
  }
}

/// Between neighbours a and b: just below the middle gives a, the middle the even one, just above
/// b.
void checkRounding(uint16_t (*narrow)(float), uint32_t infinity, int exponentBits,
                   int mantissaBits) {
  for (uint32_t bits = 0; bits + 1 < infinity; ++bits) {
    const double low = decode(bits, exponentBits, mantissaBits);
    const double high = decode(bits + 1, exponentBits, mantissaBits);
    const float middle = float((low + high) / 2);
    const uint32_t even = bits + (bits & 1), sign = 1u << (exponentBits + mantissaBits);
    EXPECT_EQ(narrow(middle), even) << bits;
    EXPECT_EQ(narrow(std::nextafter(middle, 0.0f)), bits) << bits;
    EXPECT_EQ(narrow(std::nextafter(middle, INFINITY)), bits + 1) << bits;
    EXPECT_EQ(narrow(-middle), even | sign) << bits;
  }
}

TEST(NumberFormats, NarrowingToBf16RoundsToNearestEvenAtEveryMiddle) {
  checkRounding(f32ToBf16, 0x7f80, 8, 7);
}

TEST(NumberFormats, NarrowingToF16RoundsToNearestEvenAtEveryMiddle) {
  checkRounding(f32ToF16, 0x7c00, 5, 10);
}

TEST(NumberFormats, NarrowingBeyondTheLargestGivesInfinityAndNanStaysNan) {
  EXPECT_EQ(f32ToF16(65519.996f), 0x7bff);
  EXPECT_EQ(f32ToF16(65520.0f), 0x7c00);
  EXPECT_EQ(f32ToF16(-1e30f), 0xfc00);
  EXPECT_EQ(f32ToF16(INFINITY), 0x7c00);
  EXPECT_EQ(f32ToBf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(f32ToBf16(-INFINITY), 0xff80);
  const float hiddenNan = std::bit_cast<float>(0x7f800001u); // payload in the dropped bits only
  EXPECT_TRUE(std::isnan(bf16ToF32(f32ToBf16(hiddenNan))));
  EXPECT_TRUE(std::isnan(f16ToF32(f32ToF16(hiddenNan))));
}

TEST(NumberFormats, EveryScaleByteIsItsPowerOfTwoAndByte255IsNan) {
  for (int scale = 0; scale < 255; ++scale)
    EXPECT_EQ(double(e8m0ToF32(uint8_t(scale))), std::ldexp(1.0, scale - 127)) << scale;
  EXPECT_TRUE(std::isnan(e8m0ToF32(255)));
}

TEST(NumberFormats, EveryMxfp4CodeUnderEveryScaleIsExact) {
  for (uint32_t code = 0; code < 16; ++code) {
    // E2M1: exponent bias 1, one bit of mantissa; no infinities, so not decode() above.
    const int exponent = int(code >> 1 & 3), mantissa = int(code & 1);
    const double magnitude =
        exponent ? std::ldexp(1 + mantissa / 2.0, exponent - 1) : mantissa / 2.0;
    for (int scale = 0; scale < 255; ++scale) {
      const double exact = std::ldexp(code & 8 ? -magnitude : magnitude, scale - 127);
      const bool fits = std::abs(exact) <= double(std::numeric_limits<float>::max());
      expectSame(mxfp4ToF32(uint8_t(code), uint8_t(scale)),
                 fits ? exact : std::copysign(INFINITY, exact), code * 256 + uint32_t(scale));
    }
    EXPECT_TRUE(std::isnan(mxfp4ToF32(uint8_t(code), 255)));
  }
}

} // namespace
} // namespace inf
