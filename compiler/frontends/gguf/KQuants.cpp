#include "compiler/frontends/gguf/KQuants.h"

#include <cstring>

#include "runtime/base/Error.h"
#include "runtime/format/NumberFormats.h"

namespace inf {
namespace {

float halfAt(const uint8_t *bytes) {
  uint16_t half = 0;
  std::memcpy(&half, bytes, sizeof(half));
  return f16ToF32(half);
}

struct ScaleAndMinimum {
  int scale, minimum;
};

/// Pair `i` (0..7) of the 12 bytes of 6-bit numbers: the first four scales and minimums are the low
/// bits of bytes 0-3 and 4-7; the others have their low four bits in bytes 8-11 and their high two
/// above those of the first.
ScaleAndMinimum scaleAt(const uint8_t *packed, int i) {
  if (i < 4)
    return {packed[i] & 63, packed[i + 4] & 63};
  return {(packed[i + 4] & 15) | (packed[i - 4] >> 6) << 4, (packed[i + 4] >> 4) | (packed[i] >> 6)
                                                                                       << 4};
}

/// d, dmin, scales[12], (Q5_K: fifth bits[32],) codes[128]. Each 64 values take 32 code bytes: low
/// nibbles first. Bit i of fifth bits[j] belongs to value 32 i + j.
void decodeAffine(const uint8_t *block, const uint8_t *fifthBits, const uint8_t *codes,
                  float *values) {
  const float d = halfAt(block), dmin = halfAt(block + 2);
  for (int i = 0; i < 8; ++i) {
    const auto [scale, minimum] = scaleAt(block + 4, i);
    const float step = d * float(scale), below = dmin * float(minimum);
    for (int j = 0; j < 32; ++j) {
      int code = codes[i / 2 * 32 + j] >> (i % 2 * 4) & 15;
      if (fifthBits)
        code |= (fifthBits[j] >> i & 1) << 4;
      values[32 * i + j] = step * float(code) - below;
    }
  }
}

/// low bits[128], high bits[64], scales[16], d. Of each 128 values, the quarter q (32 values) has
/// its low nibbles in bytes 32 (q mod 2) .. of 64, upper nibbles for q >= 2, and its high two bits
/// in bits 2q of 32 bytes.
void decodeSigned(const uint8_t *block, float *values) {
  const float d = halfAt(block + 208);
  for (int half = 0; half < 2; ++half)
    for (int quarter = 0; quarter < 4; ++quarter)
      for (int j = 0; j < 32; ++j) {
        const int low = block[half * 64 + quarter % 2 * 32 + j] >> (quarter / 2 * 4) & 15;
        const int high = block[128 + half * 32 + j] >> (2 * quarter) & 3;
        const auto scale = int8_t(block[192 + half * 8 + quarter * 2 + j / 16]);
        values[half * 128 + quarter * 32 + j] = d * float(scale) * float((low | high << 4) - 32);
      }
}

} // namespace

void decodeSuperBlock(uint32_t type, const uint8_t *block, float *values) {
  switch (type) {
  case 12:
    return decodeAffine(block, nullptr, block + 16, values);
  case 13:
    return decodeAffine(block, block + 16, block + 48, values);
  case 14:
    return decodeSigned(block, values);
  default:
    fail(ErrorCode::Internal, "tensor type {} has no super-blocks, expected 12 to 14", type);
  }
}

} // namespace inf
