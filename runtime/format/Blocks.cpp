#include "runtime/format/Blocks.h"

#include <bit>
#include <cstring>

#include "runtime/format/NumberFormats.h"

namespace inf {
namespace {

uint16_t load16(const uint8_t *from) {
  uint16_t value = 0;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

/// value(nibble) for the 32 codes of 16 bytes.
template <typename Value> void decodeNibbles(const uint8_t *codes, float *values, Value value) {
  for (uint64_t j = 0; j < blockColumns / 2; ++j) {
    values[j] = value(codes[j] & 15);
    values[j + blockColumns / 2] = value(codes[j] >> 4);
  }
}

void decodeInt8(const uint8_t *block, float *values) {
  const float scale = f16ToF32(load16(block));
  for (uint64_t j = 0; j < blockColumns; ++j)
    values[j] = float(int8_t(block[2 + j])) * scale;
}

/// 0xhgfedcba → 0x0h0g0f0e0d0c0b0a: one nibble to each byte.
uint64_t spreadNibbles(uint32_t nibbles) {
  uint64_t spread = nibbles;
  spread = (spread | spread << 16) & 0x0000ffff0000ffffu;
  spread = (spread | spread << 8) & 0x00ff00ff00ff00ffu;
  return (spread | spread << 4) & 0x0f0f0f0f0f0f0f0fu;
}

bool isFiniteF16(const uint8_t *value) { return (load16(value) & 0x7c00u) != 0x7c00u; }

/// Only the two largest scales can leave f32: 6 * 2^(252 - 127) is finite.
bool isFiniteMxfp4(const uint8_t *block) {
  if (block[0] <= 252)
    return true;
  float values[blockColumns];
  decodeBlock(WeightFormat::MXFP4, block, values);
  for (float value : values)
    if ((std::bit_cast<uint32_t>(value) & 0x7fffffffu) >= 0x7f800000u)
      return false;
  return true;
}

} // namespace

void decodeBlock(WeightFormat format, const uint8_t *block, float *values) {
  const uint8_t *codes = block + scaleBytes(format);
  if (format == WeightFormat::INT8)
    return decodeInt8(block, values);
  if (format == WeightFormat::MXFP4) {
    const float scale = e8m0ToF32(block[0]);
    return decodeNibbles(codes, values, [=](int code) { return mxfp4Values[code] * scale; });
  }
  const float scale = f16ToF32(load16(block));
  if (format == WeightFormat::INT4)
    return decodeNibbles(codes, values, [=](int code) { return float(code - 8) * scale; });
  const float minimum = f16ToF32(load16(block + 2));
  decodeNibbles(codes, values, [=](int code) { return float(code) * scale + minimum; });
}

bool isFiniteBlock(WeightFormat format, const uint8_t *block) {
  if (format == WeightFormat::MXFP4)
    return isFiniteMxfp4(block);
  // 128 * 65504, or 15 * 65504 + 65504, is far inside f32: finite scales are enough.
  return isFiniteF16(block) && (format != WeightFormat::INT4A || isFiniteF16(block + 2));
}

void splitNibbles(const uint8_t *columnOrder, uint8_t *codes) {
  uint32_t words[4]; // columns 0-7, 8-15, 16-23, 24-31; nibble c of a word is column c
  std::memcpy(words, columnOrder, sizeof(words));
  for (uint64_t half = 0; half < 2; ++half) {
    const uint64_t bytes = spreadNibbles(words[half]) | spreadNibbles(words[2 + half]) << 4;
    std::memcpy(codes + 8 * half, &bytes, sizeof(bytes));
  }
}

} // namespace inf
