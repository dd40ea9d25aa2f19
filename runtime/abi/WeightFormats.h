// Element formats and packed layouts of weights, and the size of a packed weight: the plain facts
// that passes, code generation, packing and loading must agree on. Values are part of the model.so
// format: append only. runtime/format/Pack.h describes the layouts byte by byte.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace inf {

enum class WeightFormat : uint32_t { F32 = 0, F16 = 1, BF16 = 2, MXFP4 = 3 };
enum class PackedLayout : uint32_t {
  Vector = 0,
  VectorPairs = 1,
  Rows = 2,
  Panel16 = 3,
  Panel16Pairs = 4
};

/// MXFP4 (OCP microscaling): 32 values share one E8M0 scale.
inline constexpr uint64_t mxfp4Block = 32;
/// Output rows of one panel: the lanes of one AVX-512 register of f32.
inline constexpr uint64_t panelRows = 16;
/// Packed weights start at multiples of this in the weights region.
inline constexpr uint64_t weightAlignment = 64;

inline constexpr std::array<std::string_view, 4> weightFormatNames = {"f32", "f16", "bf16",
                                                                      "mxfp4"};
inline constexpr std::array<std::string_view, 5> packedLayoutNames = {
    "vector", "vector_pairs", "rows", "panel16", "panel16_pairs"};

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

/// Bytes of `elements` values, scales included (elements % 32 == 0 for MXFP4).
constexpr uint64_t weightBytes(WeightFormat format, uint64_t elements) {
  switch (format) {
  case WeightFormat::F32:
    return elements * 4;
  case WeightFormat::F16:
  case WeightFormat::BF16:
    return elements * 2;
  case WeightFormat::MXFP4:
    return elements / mxfp4Block * 17;
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
    return padded(rows);
  case PackedLayout::VectorPairs:
  case PackedLayout::Panel16Pairs:
    return 2 * padded(rows / 2);
  }
  return 0;
}

/// Bytes of one packed expert of [rows, columns]. The caller has checked that the product fits.
constexpr uint64_t packedExpertBytes(WeightFormat format, PackedLayout layout, uint64_t rows,
                                     uint64_t columns) {
  return weightBytes(format, packedRows(layout, rows) * columns);
}

} // namespace inf
