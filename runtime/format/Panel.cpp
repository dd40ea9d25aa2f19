#include "runtime/format/Panel.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "runtime/format/Blocks.h"
#include "runtime/format/NumberFormats.h"
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

/// rows [count][columns] → out [columns / 2][16][2]; what has no row or column is zero.
void interleavePairs(const uint8_t *rows, uint64_t count, uint64_t columns, uint8_t *out) {
  for (uint64_t column = 0; column < columns; column += 2) {
    const uint64_t bytes = std::min<uint64_t>(columns - column, 2) * sizeof(uint16_t);
    uint32_t line[panelRows] = {};
    for (uint64_t row = 0; row < count; ++row)
      std::memcpy(&line[row], rows + (row * columns + column) * sizeof(uint16_t), bytes);
    std::memcpy(out + column / 2 * sizeof(line), line, sizeof(line));
  }
}

/// Signed codes are packed as unsigned ones (+ 128): the sign bits of four change.
template <WeightFormat format> constexpr uint32_t codeFlip = 0;
template <> constexpr uint32_t codeFlip<WeightFormat::INT8> = 0x80808080u;

/// One output's block into lane `lane` of a packed block: four code bytes to each 64-byte line,
/// then 16 scales of one or two bytes, then 16 minimums.
template <WeightFormat format>
void placeBlock(const uint8_t *stored, uint64_t lane, uint8_t *packed) {
  constexpr uint64_t codes = codeBytes(format), scale = scaleBytes(format) == 1 ? 1 : 2;
  for (uint64_t line = 0; line < codes / 4; ++line) {
    uint32_t word = 0;
    std::memcpy(&word, stored + scaleBytes(format) + 4 * line, 4);
    word ^= codeFlip<format>;
    std::memcpy(packed + line * 64 + lane * 4, &word, 4);
  }
  for (uint64_t i = 0; i < scaleBytes(format) / scale; ++i)
    std::memcpy(packed + (codes + i * scale) * panelRows + lane * scale, stored + i * scale, scale);
}

/// The inverse.
template <WeightFormat format>
void gatherBlock(const uint8_t *packed, uint64_t lane, uint8_t *stored) {
  constexpr uint64_t codes = codeBytes(format), scale = scaleBytes(format) == 1 ? 1 : 2;
  for (uint64_t line = 0; line < codes / 4; ++line) {
    uint32_t word = 0;
    std::memcpy(&word, packed + line * 64 + lane * 4, 4);
    word ^= codeFlip<format>;
    std::memcpy(stored + scaleBytes(format) + 4 * line, &word, 4);
  }
  for (uint64_t i = 0; i < scaleBytes(format) / scale; ++i)
    std::memcpy(stored + i * scale, packed + (codes + i * scale) * panelRows + lane * scale, scale);
}

template <WeightFormat format>
void packBlockPanel(const WeightDecl &decl, const WeightSource &source, uint64_t expert,
                    uint64_t firstRow, uint64_t count, uint8_t *out) {
  constexpr uint64_t bytes = blockBytes(format);
  const uint64_t blocks = decl.columns / blockColumns;
  auto rows = std::make_unique_for_overwrite<uint8_t[]>(count * blocks * bytes);
  readRowsBlocks(decl, format, source, expert, firstRow, count, rows.get());
  if (count < panelRows)
    std::memset(out, 0, blocks * bytes * panelRows);
  for (uint64_t block = 0; block < blocks; ++block)
    for (uint64_t row = 0; row < count; ++row)
      placeBlock<format>(rows.get() + (row * blocks + block) * bytes, row,
                         out + block * bytes * panelRows);
}

template <WeightFormat format>
void unpackBlockLane(uint64_t columns, const uint8_t *panel, uint64_t lane, float *out) {
  uint8_t stored[blockBytes(format)];
  for (uint64_t block = 0; block < columns / blockColumns; ++block) {
    gatherBlock<format>(panel + block * sizeof(stored) * panelRows, lane, stored);
    decodeBlock(format, stored, out + block * blockColumns);
  }
}

void packDensePanel(const WeightDecl &decl, PackedSpec spec, const WeightSource &source,
                    uint64_t expert, uint64_t firstRow, uint64_t count, uint8_t *out) {
  const WeightFormat format = spec.format;
  auto rows = std::make_unique_for_overwrite<uint8_t[]>(weightBytes(format, count * decl.columns));
  readRowsDense(decl, format, source, expert, firstRow, count, rows.get());
  if (isBy2Layout(spec.layout))
    interleavePairs(rows.get(), count, decl.columns, out);
  else if (format == WeightFormat::F32)
    interleaveRows<uint32_t>(rows.get(), count, decl.columns, out);
  else
    interleaveRows<uint16_t>(rows.get(), count, decl.columns, out);
}

/// Which element of a panel holds a column of an output.
uint64_t elementOf(PackedLayout layout, uint64_t column, uint64_t lane) {
  return isBy2Layout(layout) ? column / 2 * 2 * panelRows + 2 * lane + column % 2
                             : column * panelRows + lane;
}

void unpackDenseLane(PackedSpec spec, uint64_t columns, const uint8_t *panel, uint64_t lane,
                     float *out) {
  for (uint64_t column = 0; column < columns; ++column) {
    const uint64_t index = elementOf(spec.layout, column, lane);
    if (spec.format == WeightFormat::F32) {
      std::memcpy(out + column, panel + index * 4, 4);
      continue;
    }
    uint16_t value = 0;
    std::memcpy(&value, panel + index * 2, 2);
    out[column] = spec.format == WeightFormat::F16 ? f16ToF32(value) : bf16ToF32(value);
  }
}

} // namespace

uint64_t panelBytes(PackedSpec spec, uint64_t columns) {
  return weightBytes(spec.format, panelRows * packedColumns(spec.layout, columns));
}

void packPanel(const WeightDecl &decl, PackedSpec spec, const WeightSource &source, uint64_t expert,
               uint64_t firstRow, uint64_t count, uint8_t *out) {
  switch (spec.format) {
  case WeightFormat::MXFP4:
    return packBlockPanel<WeightFormat::MXFP4>(decl, source, expert, firstRow, count, out);
  case WeightFormat::INT8:
    return packBlockPanel<WeightFormat::INT8>(decl, source, expert, firstRow, count, out);
  case WeightFormat::INT4:
    return packBlockPanel<WeightFormat::INT4>(decl, source, expert, firstRow, count, out);
  case WeightFormat::INT4A:
    return packBlockPanel<WeightFormat::INT4A>(decl, source, expert, firstRow, count, out);
  default:
    return packDensePanel(decl, spec, source, expert, firstRow, count, out);
  }
}

void unpackPanelLane(PackedSpec spec, uint64_t columns, const uint8_t *panel, uint64_t lane,
                     float *out) {
  switch (spec.format) {
  case WeightFormat::MXFP4:
    return unpackBlockLane<WeightFormat::MXFP4>(columns, panel, lane, out);
  case WeightFormat::INT8:
    return unpackBlockLane<WeightFormat::INT8>(columns, panel, lane, out);
  case WeightFormat::INT4:
    return unpackBlockLane<WeightFormat::INT4>(columns, panel, lane, out);
  case WeightFormat::INT4A:
    return unpackBlockLane<WeightFormat::INT4A>(columns, panel, lane, out);
  default:
    return unpackDenseLane(spec, columns, panel, lane, out);
  }
}

} // namespace inf
