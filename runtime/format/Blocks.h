// One block of a block format as it travels from checkpoints to packers: 32 columns of one row,
// scale bytes first, then code bytes. GGUF files keep such blocks; other sources are brought into
// this form when they are read.
//
//   MXFP4  17 bytes: scale byte (E8M0), 16 bytes of E2M1 codes
//   INT8   34 bytes: f16 scale, 32 signed codes
//   INT4   18 bytes: f16 scale, 16 bytes of codes + 8
//   INT4A  20 bytes: f16 scale, f16 minimum, 16 bytes of codes
//
// 4-bit codes: byte j (j < 16) holds column j in its low nibble and column 16 + j in its high one.
#pragma once

#include <cstdint>

#include "runtime/abi/WeightFormats.h"

namespace inf {

constexpr uint64_t blockBytes(WeightFormat format) { return weightBytes(format, blockColumns); }
constexpr uint64_t codeBytes(WeightFormat format) { return format == WeightFormat::INT8 ? 32 : 16; }
constexpr uint64_t scaleBytes(WeightFormat format) {
  return blockBytes(format) - codeBytes(format);
}

/// The 32 values of a block. Exact, but that INT4A's sum rounds once (code * scale is exact in f32,
/// so an FMA gives the same).
void decodeBlock(WeightFormat format, const uint8_t *block, float *values);

/// Whether every value of the block is finite in f32.
bool isFiniteBlock(WeightFormat format, const uint8_t *block);

/// Codes in column order (column 2i in the low nibble of byte i, as safetensors checkpoints keep
/// MXFP4) into the order above; 16 bytes each.
void splitNibbles(const uint8_t *columnOrder, uint8_t *codes);

} // namespace inf
