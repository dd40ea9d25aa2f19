// Scalar references for the kernels, of two kinds.
//   ordered: f32, exactly the operations and order that codegen/KernelArgs.h promises: equal bits.
//   exact:   double, the plain formula: within codegen tolerances.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/KernelArgs.h"
#include "codegen/KernelSpec.h"

namespace inf::test {

/// exp as codegen/Exp.h states it, by std::fma.
float orderedExp(float x);

/// To nearest even; a denormal counts as 0, NaN stays NaN.
float nearestBf16(float x);

/// Where key d and value d of a position in its block lie, in elements from the block's keys and
/// values (codegen/KernelArgs.h).
int64_t keyElement(const KernelSpec &spec, int64_t inBlock, unsigned d);
int64_t valueElement(const KernelSpec &spec, int64_t inBlock, unsigned d);

/// One output of a linear kernel: row r, unit (panel or pair) p, lane n.
float orderedLinear(const KernelSpec &spec, const LinearArgs &args, int64_t r, int64_t p,
                    unsigned n);

/// The exact output and how far the kernel may be from it.
struct Exact {
  double value, bound;
};
Exact exactLinear(const KernelSpec &spec, const LinearArgs &args, int64_t r, int64_t p, unsigned n);

/// All outputs, [group][headDim].
std::vector<float> orderedAttention(const KernelSpec &spec, const AttentionArgs &args);
std::vector<double> exactAttention(const KernelSpec &spec, const AttentionArgs &args);

} // namespace inf::test
