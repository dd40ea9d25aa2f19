#include "runtime/format/Pack.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "runtime/format/Blocks.h"
#include "runtime/format/Checked.h"
#include "runtime/format/NumberFormats.h"
#include "runtime/format/Panel.h"
#include "runtime/format/Quantize.h"
#include "runtime/format/StoredRows.h"

namespace inf {
namespace {

bool isVectorLayout(PackedLayout layout) {
  return layout == PackedLayout::Vector || layout == PackedLayout::VectorPairs;
}

uint64_t panelsFor(uint64_t rows) { return (rows + panelRows - 1) / panelRows; }

struct Geometry {
  uint64_t unitsPerExpert = 0;
  uint64_t unitBytes = 0; ///< of every unit but possibly the last of `rows`
  uint64_t expertBytes = 0;
};

Geometry geometryOf(const WeightDecl &decl, PackedSpec spec) {
  requirePackable(decl, spec);
  const uint64_t expertBytes = packedExpertBytes(spec.format, spec.layout, decl.rows, decl.columns);
  const uint64_t panel = panelBytes(spec, decl.columns);
  switch (spec.layout) {
  case PackedLayout::Vector:
  case PackedLayout::VectorPairs:
    return {1, expertBytes, expertBytes};
  case PackedLayout::Rows:
  case PackedLayout::Panel16:
  case PackedLayout::Panel16By2:
    return {panelsFor(decl.rows), panel, expertBytes};
  case PackedLayout::Panel16Pairs:
  case PackedLayout::Panel16PairsBy2:
    return {panelsFor(decl.rows / 2), 2 * panel, expertBytes};
  }
  fail(ErrorCode::Internal, "packed layout {}, expected 0..6", uint32_t(spec.layout));
}

void packVector(const WeightDecl &decl, const WeightSource &source, uint64_t expert,
                std::span<uint8_t> out) {
  std::memset(out.data(), 0, out.size());
  readRowsDense(decl, WeightFormat::F32, source, expert, 0, decl.rows, out.data());
}

/// Place, in floats, of logical row `row` in a vector_pairs weight of `rows` rows.
uint64_t pairPlace(uint64_t row, uint64_t rows) {
  const uint64_t half = rows / 2, isUp = row >= half, inHalf = row - isUp * half;
  return inHalf / panelRows * 2 * panelRows + isUp * panelRows + inHalf % panelRows;
}

void packVectorPairs(const WeightDecl &decl, const WeightSource &source, uint64_t expert,
                     std::span<uint8_t> out) {
  std::memset(out.data(), 0, out.size());
  auto values = std::make_unique_for_overwrite<uint8_t[]>(decl.rows * 4);
  readRowsDense(decl, WeightFormat::F32, source, expert, 0, decl.rows, values.get());
  for (uint64_t row = 0; row < decl.rows; ++row)
    std::memcpy(out.data() + pairPlace(row, decl.rows) * 4, values.get() + row * 4, 4);
}

void packPanelPair(const WeightDecl &decl, PackedSpec spec, const WeightSource &source,
                   uint64_t expert, uint64_t firstRow, uint8_t *out) {
  const uint64_t half = decl.rows / 2;
  const uint64_t count = std::min(panelRows, half - firstRow);
  packPanel(decl, spec, source, expert, firstRow, count, out);
  packPanel(decl, spec, source, expert, half + firstRow, count,
            out + panelBytes(spec, decl.columns));
}

/// Panel of an expert and lane in it that hold logical row `row`.
std::pair<uint64_t, uint64_t> panelOfRow(PackedLayout layout, uint64_t row, uint64_t rows) {
  if (!isPairsLayout(layout))
    return {row / panelRows, row % panelRows};
  const uint64_t half = rows / 2, isUp = row >= half, inHalf = row - isUp * half;
  return {inHalf / panelRows * 2 + isUp, inHalf % panelRows};
}

void unpackRow(const WeightDecl &decl, PackedSpec spec, const uint8_t *packed, uint64_t row,
               float *out) {
  if (spec.layout == PackedLayout::Vector || spec.layout == PackedLayout::VectorPairs) {
    const uint64_t place = spec.layout == PackedLayout::Vector ? row : pairPlace(row, decl.rows);
    std::memcpy(out, packed + place * 4, 4);
    return;
  }
  if (spec.layout != PackedLayout::Rows) {
    const auto [panel, lane] = panelOfRow(spec.layout, row, decl.rows);
    return unpackPanelLane(spec, decl.columns, packed + panel * panelBytes(spec, decl.columns),
                           lane, out);
  }
  const uint8_t *values = packed + row * weightBytes(spec.format, decl.columns);
  if (isBlockFormat(spec.format)) {
    for (uint64_t block = 0; block < decl.columns / blockColumns; ++block)
      decodeBlock(spec.format, values + block * blockBytes(spec.format),
                  out + block * blockColumns);
    return;
  }
  if (spec.format == WeightFormat::F32) {
    std::memcpy(out, values, decl.columns * 4);
    return;
  }
  for (uint64_t column = 0; column < decl.columns; ++column) {
    uint16_t value = 0;
    std::memcpy(&value, values + column * 2, 2);
    out[column] = spec.format == WeightFormat::F16 ? f16ToF32(value) : bf16ToF32(value);
  }
}

std::optional<std::string> whyNotBlocks(const WeightDecl &decl, PackedSpec spec) {
  const std::string_view format = weightFormatName(spec.format);
  if (spec.layout == PackedLayout::Rows && spec.format == WeightFormat::MXFP4)
    return "layout rows holds any format but mxfp4";
  if (decl.columns % blockColumns != 0)
    return fmt::format("{} needs columns that are a multiple of {}, the weight has {}", format,
                       blockColumns, decl.columns);
  for (const WeightPart &part : decl.parts)
    if (part.stored != spec.format && !isQuantizable(spec.format))
      return fmt::format("'{}' is stored as {}: only {} is packed as {}", part.tensor,
                         weightFormatName(part.stored), format, format);
  return std::nullopt;
}

} // namespace

std::optional<std::string> whyNotPackable(const WeightDecl &decl, PackedSpec spec) {
  if (auto reason = whyMalformed(decl))
    return reason;
  if (uint32_t(spec.format) >= weightFormatNames.size() ||
      uint32_t(spec.layout) >= packedLayoutNames.size())
    return fmt::format("format {} and layout {} are not known", uint32_t(spec.format),
                       uint32_t(spec.layout));
  const std::string_view layout = packedLayoutName(spec.layout);
  const std::string_view format = weightFormatName(spec.format);
  if (isVectorLayout(spec.layout) && !decl.isVector())
    return fmt::format("layout {} holds vectors, the weight has {} columns", layout, decl.columns);
  if (isVectorLayout(spec.layout) && spec.format != WeightFormat::F32)
    return fmt::format("layout {} is f32, not {}", layout, format);
  if (isBy2Layout(spec.layout) && spec.format != WeightFormat::BF16)
    return fmt::format("layout {} is bf16, not {}", layout, format);
  if (isPairsLayout(spec.layout) && decl.rows % 2 != 0)
    return fmt::format("layout {} pairs gate and up rows, the weight has an odd number: {}", layout,
                       decl.rows);
  if (spec.layout == PackedLayout::Rows && decl.experts != 1)
    return fmt::format("layout rows has no expert axis, the weight has {} experts", decl.experts);
  return isBlockFormat(spec.format) ? whyNotBlocks(decl, spec) : std::nullopt;
}

void requirePackable(const WeightDecl &decl, PackedSpec spec) {
  if (auto reason = whyNotPackable(decl, spec))
    fail(ErrorCode::BadInput, "weight '{}' can't be packed: {}; choose another format or layout",
         decl.name, *reason);
}

uint64_t packedBytes(const WeightDecl &decl, PackedSpec spec) {
  return checkedMultiply(geometryOf(decl, spec).expertBytes, decl.experts,
                         "packed bytes of a weight");
}

uint64_t packedExpertBytes(const WeightDecl &decl, PackedSpec spec) {
  return geometryOf(decl, spec).expertBytes;
}

PackUnits packUnits(const WeightDecl &decl, PackedSpec spec) {
  const Geometry geometry = geometryOf(decl, spec);
  return {checkedMultiply(geometry.unitsPerExpert, decl.experts, "units of a weight"),
          geometry.unitBytes};
}

uint64_t packUnitBytes(const WeightDecl &decl, PackedSpec spec, uint64_t unit) {
  const Geometry geometry = geometryOf(decl, spec);
  const uint64_t inExpert = unit % geometry.unitsPerExpert;
  return std::min(geometry.unitBytes, geometry.expertBytes - inExpert * geometry.unitBytes);
}

void packUnit(const WeightDecl &decl, PackedSpec spec, const WeightSource &source, uint64_t unit,
              std::span<uint8_t> out) {
  const Geometry geometry = geometryOf(decl, spec);
  const uint64_t expert = unit / geometry.unitsPerExpert;
  const uint64_t inExpert = unit % geometry.unitsPerExpert;
  const uint64_t bytes =
      std::min(geometry.unitBytes, geometry.expertBytes - inExpert * geometry.unitBytes);
  if (expert >= decl.experts || out.size() != bytes)
    fail(ErrorCode::Internal, "weight '{}': unit {} into {} bytes, expected one of {} into {}",
         decl.name, unit, out.size(), geometry.unitsPerExpert * decl.experts, bytes);
  const uint64_t firstRow = inExpert * panelRows;
  const uint64_t count = std::min(panelRows, decl.rows - firstRow);
  switch (spec.layout) {
  case PackedLayout::Vector:
    return packVector(decl, source, expert, out);
  case PackedLayout::VectorPairs:
    return packVectorPairs(decl, source, expert, out);
  case PackedLayout::Rows:
    if (isBlockFormat(spec.format))
      return readRowsBlocks(decl, spec.format, source, 0, firstRow, count, out.data());
    return readRowsDense(decl, spec.format, source, 0, firstRow, count, out.data());
  case PackedLayout::Panel16:
  case PackedLayout::Panel16By2:
    return packPanel(decl, spec, source, expert, firstRow, count, out.data());
  case PackedLayout::Panel16Pairs:
  case PackedLayout::Panel16PairsBy2:
    return packPanelPair(decl, spec, source, expert, firstRow, out.data());
  }
}

void unpackRowsF32(const WeightDecl &decl, PackedSpec spec, std::span<const uint8_t> packedExpert,
                   uint64_t firstRow, uint64_t count, float *out) {
  const uint64_t bytes = packedExpertBytes(decl, spec);
  if (packedExpert.size() != bytes || !rangeInside(firstRow, count, decl.rows))
    fail(ErrorCode::Internal,
         "weight '{}': rows {} + {} from {} packed bytes, expected rows below {} and {} bytes",
         decl.name, firstRow, count, packedExpert.size(), decl.rows, bytes);
  for (uint64_t row = 0; row < count; ++row)
    unpackRow(decl, spec, packedExpert.data(), firstRow + row, out + row * decl.columns);
}

} // namespace inf
