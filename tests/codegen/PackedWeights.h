// Packed weights read one value at a time, as runtime/format/Pack.h describes the bytes.
#pragma once

#include <cstdint>

#include "codegen/KernelSpec.h"

namespace inf::test {

double halfValue(uint16_t bits);

/// Element `index` of an array of F32, F16 or BF16.
double elementValue(WeightFormat format, const uint8_t *base, int64_t index);

/// One block of 32 columns of a panel in a block format.
struct PackedBlock {
  PackedBlock(WeightFormat weightFormat, const uint8_t *panel, int64_t column);

  /// A weight is code * scale + minimum; of mxfp4 the code is its value, -6..6.
  double code(int64_t column, unsigned output) const;
  float scale(unsigned output) const;
  float minimum(unsigned output) const; ///< 0 but for int4a

  const WeightFormat format;
  const uint8_t *const start;
};

/// Bytes of codes in a block, before its scales.
uint64_t codeBytes(WeightFormat format);

/// Packed columns of a panel of the kernel's.
uint64_t packedColumnsOf(const KernelSpec &spec, int64_t columns);

/// The value of column `column`, output `output` (0..15) of a packed panel of the kernel's.
double packedValue(const KernelSpec &spec, const uint8_t *panel, int64_t column, unsigned output);
/// Its magnitude, or the sum of its two terms' magnitudes.
double packedMagnitude(const KernelSpec &spec, const uint8_t *panel, int64_t column,
                       unsigned output);

} // namespace inf::test
