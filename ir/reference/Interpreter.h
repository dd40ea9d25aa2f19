// The slow, obvious evaluation of a model at any stage: what every pass must keep and every kernel
// must reach. f32 values, one sequence, no blocks, no threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/dialect/InfDialect.h"

namespace inf::ir {

/// Gives logical rows of a weight as f32: [count][columns].
class WeightReader {
public:
  virtual ~WeightReader() = default;
  /// The values a compiled model holds: those of the checkpoint after packing to the format that
  /// the weight's declaration gives (none: as stored).
  virtual void readRows(WeightOp weight, int64_t expert, int64_t firstRow, int64_t count,
                        float *out) = 0;
};

/// A value of the IR: `rows` vectors of `width` floats (all but the first dimension flattened), or
/// of integers for expert indices.
struct ReferenceTensor {
  int64_t rows = 0, width = 0;
  std::vector<float> values;
  std::vector<int32_t> indices;

  static ReferenceTensor zeros(int64_t rows, int64_t width);
  float *row(int64_t r) { return values.data() + r * width; }
  const float *row(int64_t r) const { return values.data() + r * width; }
};

struct ReferenceResult {
  ReferenceTensor hidden, logits;      ///< of the output rows
  std::vector<ReferenceTensor> layers; ///< the residual stream before layer 0 and after each layer
};

/// Runs `tokens` as one sequence from position 0. `outputs` are the positions that want hidden and
/// logits, ascending.
///
/// Weights pass through the format the IR gives them, activations through !inf.q8 or bf16 where
/// they have that type, keys and values through the element of their group: so the result is that
/// of exact arithmetic on what the compiled model holds.
ReferenceResult runReference(ModelOp model, WeightReader &weights,
                             const std::vector<int32_t> &tokens,
                             const std::vector<int64_t> &outputs);

} // namespace inf::ir
