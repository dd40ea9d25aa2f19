#include "tests/codegen/PackedWeights.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace inf::test {
namespace {

template <typename T> T readAs(const uint8_t *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

constexpr double mxfp4Magnitudes[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

} // namespace

double halfValue(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

double elementValue(WeightFormat format, const uint8_t *base, int64_t index) {
  switch (format) {
  case WeightFormat::F32:
    return readAs<float>(base + index * 4);
  case WeightFormat::F16:
    return halfValue(readAs<uint16_t>(base + index * 2));
  default:
    return std::bit_cast<float>(uint32_t{readAs<uint16_t>(base + index * 2)} << 16);
  }
}

uint64_t codeBytes(WeightFormat format) { return format == WeightFormat::INT8 ? 512 : 256; }

PackedBlock::PackedBlock(WeightFormat weightFormat, const uint8_t *panel, int64_t column)
    : format(weightFormat),
      start(panel + column / 32 * static_cast<int64_t>(weightBytes(weightFormat, 16 * 32))) {}

double PackedBlock::code(int64_t column, unsigned output) const {
  const int64_t inBlock = column % 32;
  const int64_t inLines = format == WeightFormat::INT8 ? inBlock : inBlock % 16;
  const uint8_t byte = start[inLines / 4 * 64 + output * 4 + inLines % 4];
  const int nibble = inBlock < 16 ? byte & 15 : byte >> 4;
  switch (format) {
  case WeightFormat::INT8:
    return byte - 128;
  case WeightFormat::INT4:
    return nibble - 8;
  case WeightFormat::INT4A:
    return nibble;
  default:
    return nibble & 8 ? -mxfp4Magnitudes[nibble & 7] : mxfp4Magnitudes[nibble];
  }
}

float PackedBlock::scale(unsigned output) const {
  const uint8_t *scales = start + codeBytes(format);
  return static_cast<float>(format == WeightFormat::MXFP4
                                ? std::ldexp(1.0, scales[output] - 127)
                                : halfValue(readAs<uint16_t>(scales + 2 * output)));
}

float PackedBlock::minimum(unsigned output) const {
  if (format != WeightFormat::INT4A)
    return 0;
  return static_cast<float>(
      halfValue(readAs<uint16_t>(start + codeBytes(format) + 32 + 2 * output)));
}

uint64_t packedColumnsOf(const KernelSpec &spec, int64_t columns) {
  const PackedLayout layout =
      spec.inputs == InputFormat::BF16 ? PackedLayout::Panel16By2 : PackedLayout::Panel16;
  return packedColumns(layout, static_cast<uint64_t>(columns));
}

double packedValue(const KernelSpec &spec, const uint8_t *panel, int64_t column, unsigned output) {
  if (spec.inputs == InputFormat::BF16)
    return elementValue(spec.weights, panel, column / 2 * 32 + 2 * output + column % 2);
  if (!isBlockFormat(spec.weights))
    return elementValue(spec.weights, panel, column * 16 + output);
  const PackedBlock block(spec.weights, panel, column);
  return block.code(column, output) * block.scale(output) + block.minimum(output);
}

double packedMagnitude(const KernelSpec &spec, const uint8_t *panel, int64_t column,
                       unsigned output) {
  if (!isBlockFormat(spec.weights))
    return std::abs(packedValue(spec, panel, column, output));
  const PackedBlock block(spec.weights, panel, column);
  return std::abs(block.code(column, output) * block.scale(output)) +
         std::abs(block.minimum(output));
}

} // namespace inf::test
