// A linear kernel's inputs, random and owned, in the packed layouts.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
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
  const InputFormat inputs;

  /// For tests that set values by hand, before argsInto(): rows of floats [rows][columns], as bf16
  /// where the inputs are (which cuts them), or of q8 codes [rows][columns] and scales
  /// [rows][columns / 32]; packed weights.
  std::vector<std::vector<float>> x;
  std::vector<std::vector<int8_t>> codes;
  std::vector<std::vector<float>> codeScales;
  std::vector<uint8_t> weights;
  LinearArgs args{};

private:
  void fillWeights(WeightFormat format, std::mt19937 &random);
  void clearPadding();
  void fillBlocks(WeightFormat format, std::mt19937 &random);
  void addInputRow(std::mt19937 &random);
  std::vector<uint8_t> inputBytes(size_t row) const;
  std::vector<uint8_t> q8Bytes(size_t row) const;
  uint8_t *newScratch();
  size_t stride() const { return static_cast<size_t>(shape.panels) * 16; }

  KernelSpec amxSpec; ///< of the kernel that needs most scratch
  std::vector<float> bias, scale;
  std::unique_ptr<GuardedBytes> scratch;
  std::vector<std::vector<float>> addend, residual;
  std::unique_ptr<GuardedBytes> guardedWeights;
  std::vector<std::unique_ptr<GuardedBytes>> guardedX;
  std::vector<const void *> xRows;
  std::vector<const float *> addendRows, residualRows;
  std::vector<float *> yRows;
};

/// The kernel's outputs [rows][panels * 16].
std::vector<float> runLinear(const KernelSpec &spec, LinearProblem &problem);
/// Every output of orderedLinear for problem.args.
std::vector<float> orderedOutputs(const KernelSpec &spec, const LinearProblem &problem);
/// "symbol rows 1 panels 2 columns 32 seed 1": what repeats a failure.
std::string traceOf(const KernelSpec &spec, LinearShape shape, unsigned seed);
/// Expects a random problem's outputs to have the bits of the ordered reference and to be within
/// the bounds of the exact one.
void checkAgainstReferences(const KernelSpec &spec, LinearShape shape, unsigned seed);
/// The bits of floats: equal means equal, -0 and NaN included.
std::vector<uint32_t> bitsOf(const std::vector<float> &values);

} // namespace inf::test
