// Element formats and packed layouts of weights, and the size of a packed weight: the plain facts
// that passes, code generation, packing and loading must agree on. Values are part of the model.so
// format: append only. runtime/format/Pack.h describes the layouts byte by byte.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace inf {

/// Dense formats, then the block formats: along the columns every 32 codes share a scale.
///   MXFP4  code * 2^(scale byte - 127), codes E2M1 (OCP microscaling)
///   INT8   code * scale, codes -128..127 (our own quantizer: -127..127), scale f16 (GGUF's Q8_0)
///   INT4   code * scale, codes -8..7, scale f16 (Q4_0)
///   INT4A  code * scale + minimum, codes 0..15, scale and minimum f16 (Q4_1)
enum class WeightFormat : uint32_t {
  F32 = 0,
  F16 = 1,
  BF16 = 2,
  MXFP4 = 3,
  INT8 = 4,
  INT4 = 5,
  INT4A = 6
};
enum class PackedLayout : uint32_t {
  Vector = 0,
  VectorPairs = 1,
  Rows = 2,
  Panel16 = 3,
  Panel16Pairs = 4,
  Panel16By2 = 5,
  Panel16PairsBy2 = 6
};

/// Columns that share a scale in every block format.
inline constexpr uint64_t blockColumns = 32;
/// Output rows of one panel: the lanes of one AVX-512 register of f32.
inline constexpr uint64_t panelRows = 16;
/// Packed weights start at multiples of this in the weights region.
inline constexpr uint64_t weightAlignment = 64;

inline constexpr std::array<std::string_view, 7> weightFormatNames = {
    "f32", "f16", "bf16", "mxfp4", "int8", "int4", "int4a"};
inline constexpr std::array<std::string_view, 7> packedLayoutNames = {
    "vector",      "vector_pairs",     "rows", "panel16", "panel16_pairs",
    "panel16_by2", "panel16_pairs_by2"};

constexpr std::string_view weightFormatName(WeightFormat format) {
  return weightFormatNames[static_cast<uint32_t>(format)];
}
constexpr std::string_view packedLayoutName(PackedLayout layout) {
  return packedLayoutNames[static_cast<uint32_t>(layout)];
}
constexpr std::optional<WeightFormat> weightFormatByName(std::string_view name) {
  for (uint32_t i = 0; i < weightFormatNames.size(); ++i)
    if (weightFormatNames[i] == name)
      return static_cast<WeightFormat>(i);
  return std::nullopt;
}
constexpr std::optional<PackedLayout> packedLayoutByName(std::string_view name) {
  for (uint32_t i = 0; i < packedLayoutNames.size(); ++i)
    if (packedLayoutNames[i] == name)
      return static_cast<PackedLayout>(i);
  return std::nullopt;
}

/// Layouts of gate and up weights, whose panels alternate.
constexpr bool isPairsLayout(PackedLayout layout) {
  return layout == PackedLayout::VectorPairs || layout == PackedLayout::Panel16Pairs ||
         layout == PackedLayout::Panel16PairsBy2;
}
/// Layouts of whole panels, in any order of the columns.
constexpr bool isPanelLayout(PackedLayout layout) { return layout >= PackedLayout::Panel16; }
/// Layouts whose panels have two columns of an output side by side.
constexpr bool isBy2Layout(PackedLayout layout) { return layout >= PackedLayout::Panel16By2; }

constexpr bool isBlockFormat(WeightFormat format) { return format >= WeightFormat::MXFP4; }

/// Bytes of `elements` values, scales included (elements % 32 == 0 for block formats).
constexpr uint64_t weightBytes(WeightFormat format, uint64_t elements) {
  switch (format) {
  case WeightFormat::F32:
    return elements * 4;
  case WeightFormat::F16:
  case WeightFormat::BF16:
    return elements * 2;
  case WeightFormat::MXFP4:
    return elements / blockColumns * 17;
  case WeightFormat::INT8:
    return elements / blockColumns * 34;
  case WeightFormat::INT4:
    return elements / blockColumns * 18;
  case WeightFormat::INT4A:
    return elements / blockColumns * 20;
  }
  return 0;
}

/// Packed output rows of one expert: padded to panels, each half on its own for pairs.
constexpr uint64_t packedRows(PackedLayout layout, uint64_t rows) {
  auto padded = [](uint64_t n) { return (n + panelRows - 1) / panelRows * panelRows; };
  switch (layout) {
  case PackedLayout::Rows:
    return rows;
  case PackedLayout::Vector:
  case PackedLayout::Panel16:
  case PackedLayout::Panel16By2:
    return padded(rows);
  case PackedLayout::VectorPairs:
  case PackedLayout::Panel16Pairs:
  case PackedLayout::Panel16PairsBy2:
    return 2 * padded(rows / 2);
  }
  return 0;
}

/// Packed columns: with two side by side an odd one has zeros beside it.
constexpr uint64_t packedColumns(PackedLayout layout, uint64_t columns) {
  return isBy2Layout(layout) ? (columns + 1) / 2 * 2 : columns;
}

/// Bytes of one packed expert of [rows, columns]. The caller has checked that the product fits.
constexpr uint64_t packedExpertBytes(WeightFormat format, PackedLayout layout, uint64_t rows,
                                     uint64_t columns) {
  return weightBytes(format, packedRows(layout, rows) * packedColumns(layout, columns));
}

} // namespace inf
