#include "runtime/format/Panel.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "runtime/format/NumberFormats.h"
#include "runtime/format/Pack.h"
#include "runtime/format/StoredRows.h"

namespace inf {
namespace {

/// rows [count][columns] → out [columns][16], lanes beyond count zero. A copy per column leaves as
/// one store of a whole line.
template <typename T>
void interleaveRows(const uint8_t *rows, uint64_t count, uint64_t columns, uint8_t *out) {
  for (uint64_t column = 0; column < columns; ++column) {
    T line[panelRows] = {};
    for (uint64_t row = 0; row < count; ++row)
      std::memcpy(&line[row], rows + (row * columns + column) * sizeof(T), sizeof(T));
    std::memcpy(out + column * sizeof(line), line, sizeof(line));
  }
}

/// 0xhgfedcba → 0x0h0g0f0e0d0c0b0a: one nibble to each byte.
uint64_t spreadNibbles(uint32_t nibbles) {
  uint64_t spread = nibbles;
  spread = (spread | spread << 16) & 0x0000ffff0000ffffu;
  spread = (spread | spread << 8) & 0x00ff00ff00ff00ffu;
  return (spread | spread << 4) & 0x0f0f0f0f0f0f0f0fu;
}

/// One stored block of one output (16 bytes, element 2i in the low nibble of byte i) into lane
/// `lane` of a packed block.
void placeBlock(const uint8_t *stored, uint64_t lane, uint8_t *block) {
  uint32_t words[4]; // columns 0-7, 8-15, 16-23, 24-31; nibble c of a word is column c
  std::memcpy(words, stored, sizeof(words));
  for (uint64_t half = 0; half < 2; ++half) {
    const uint64_t bytes = spreadNibbles(words[half]) | spreadNibbles(words[2 + half]) << 4;
    const uint32_t low = uint32_t(bytes), high = uint32_t(bytes >> 32);
    std::memcpy(block + (2 * half) * 64 + lane * 4, &low, 4);
    std::memcpy(block + (2 * half + 1) * 64 + lane * 4, &high, 4);
  }
}

void packMxfp4Panel(const WeightDecl &decl, const WeightSource &source, uint64_t expert,
                    uint64_t firstRow, uint64_t count, uint8_t *out) {
  const uint64_t blocks = decl.columns / mxfp4Block, codeBytes = decl.columns / 2;
  auto codes = std::make_unique_for_overwrite<uint8_t[]>(count * codeBytes);
  auto scales = std::make_unique_for_overwrite<uint8_t[]>(count * blocks);
  readRowsMxfp4(decl, source, expert, firstRow, count, codes.get(), scales.get());
  if (count < panelRows)
    std::memset(out, 0, blocks * mxfp4PanelBlockBytes);
  for (uint64_t block = 0; block < blocks; ++block) {
    uint8_t *packed = out + block * mxfp4PanelBlockBytes;
    for (uint64_t row = 0; row < count; ++row) {
      placeBlock(codes.get() + row * codeBytes + block * (mxfp4Block / 2), row, packed);
      packed[256 + row] = scales[row * blocks + block];
    }
  }
}

void unpackMxfp4Lane(uint64_t columns, const uint8_t *panel, uint64_t lane, float *out) {
  for (uint64_t column = 0; column < columns; ++column) {
    const uint8_t *block = panel + column / mxfp4Block * mxfp4PanelBlockBytes;
    const uint64_t inHalf = column % 16, high = column % mxfp4Block / 16;
    const uint8_t byte = block[inHalf / 4 * 64 + lane * 4 + inHalf % 4];
    out[column] = mxfp4ToF32(uint8_t(byte >> (4 * high)), block[256 + lane]);
  }
}

} // namespace

uint64_t panelBytes(WeightFormat format, uint64_t columns) {
  return weightBytes(format, panelRows * columns);
}

void packPanel(const WeightDecl &decl, WeightFormat format, const WeightSource &source,
               uint64_t expert, uint64_t firstRow, uint64_t count, uint8_t *out) {
  if (format == WeightFormat::MXFP4)
    return packMxfp4Panel(decl, source, expert, firstRow, count, out);
  auto rows = std::make_unique_for_overwrite<uint8_t[]>(weightBytes(format, count * decl.columns));
  readRowsDense(decl, format, source, expert, firstRow, count, rows.get());
  if (format == WeightFormat::F32)
    interleaveRows<uint32_t>(rows.get(), count, decl.columns, out);
  else
    interleaveRows<uint16_t>(rows.get(), count, decl.columns, out);
}

void unpackPanelLane(WeightFormat format, uint64_t columns, const uint8_t *panel, uint64_t lane,
                     float *out) {
  if (format == WeightFormat::MXFP4)
    return unpackMxfp4Lane(columns, panel, lane, out);
  for (uint64_t column = 0; column < columns; ++column) {
    const uint64_t index = column * panelRows + lane;
    if (format == WeightFormat::F32) {
      std::memcpy(out + column, panel + index * 4, 4);
      continue;
    }
    uint16_t value = 0;
    std::memcpy(&value, panel + index * 2, 2);
    out[column] = format == WeightFormat::F16 ? f16ToF32(value) : bf16ToF32(value);
  }
}

} // namespace inf
