// From z to y: scale, addend, bias, activation, residual (codegen/KernelArgs.h).
#pragma once

#include "codegen/linear/LinearContext.h"

namespace inf {

/// Borrows temp, and at most four Lanes16: gate, sigmoid and its own three, in turn.
class Epilogue {
public:
  explicit Epilogue(LinearContext &linearContext) : context(linearContext) {}

  /// z = z * scale[n];  z = z + addend[r][n];  z = z + bias[n], each rounded, for the rows from
  /// context.row on. `packedPanel` counts from the one at outOffset, gate and up panels apart.
  void finishLinear(const Tile &z, unsigned packedPanel);
  /// up = activation(gate, up); destroys gate.
  void activate(const Lanes16 &up, const Lanes16 &gate);
  /// y = v + residual, in row `row` of the tile; `output` counts panels of outputs from the one at
  /// outOffset.
  void addResidualAndStore(const Lanes16 &v, unsigned row, unsigned output);

private:
  void swiglu(const Lanes16 &up, const Lanes16 &gate);
  void swigluClamped(const Lanes16 &up, const Lanes16 &gate);
  void loadRowPointer(size_t pointersOffset, unsigned row);
  LinearContext::Address perOutput(unsigned packedPanel) const;

  LinearContext &context;
};

} // namespace inf
