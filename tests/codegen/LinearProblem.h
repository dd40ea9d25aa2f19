// A linear kernel's inputs, random and owned, in the packed layouts.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "codegen/KernelArgs.h"
#include "tests/codegen/ExecutableKernel.h"

namespace inf::test {

struct LinearShape {
  int64_t rows, panels, columns; ///< panels: pairs with an activation
};

class LinearProblem {
public:
  LinearProblem(const KernelSpec &spec, LinearShape shape, unsigned seed);

  /// Arguments with y pointing at `out`, [rows][panels * 16], and residual at ours.
  const LinearArgs &argsInto(std::vector<float> &out);
  /// As above, with residual = y (in place): `out` gets the residual first.
  const LinearArgs &argsInPlace(std::vector<float> &out);

  const LinearShape shape;

  /// For tests that set values by hand. [rows][columns], 1 panel = `panelBytes` of weights.
  std::vector<std::vector<float>> x;
  std::vector<uint8_t> weights;
  LinearArgs args{};

private:
  void fillWeights(WeightFormat format, std::mt19937 &random);
  size_t stride() const { return static_cast<size_t>(shape.panels) * 16; }

  std::vector<float> bias, scale;
  std::vector<std::vector<float>> addend, residual;
  std::unique_ptr<GuardedBytes> guardedWeights;
  std::vector<std::unique_ptr<GuardedBytes>> guardedX;
  std::vector<const float *> xRows, addendRows, residualRows;
  std::vector<float *> yRows;
};

/// The kernel's outputs [rows][panels * 16].
std::vector<float> runLinear(const KernelSpec &spec, LinearProblem &problem);
/// The bits of floats: equal means equal, -0 and NaN included.
std::vector<uint32_t> bitsOf(const std::vector<float> &values);

} // namespace inf::test
