// Where checkpoint bytes come from: a checkpoint on disk, or a seeded generator of random finite
// weights of the same shapes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/format/WeightDecl.h"

namespace inf {

class WeightSource {
public:
  virtual ~WeightSource() = default;
  /// Reads `out.size()` bytes of the checkpoint tensor `tensor` starting at `offset`.
  /// Fails with BadInput when the tensor is unknown or the range lies outside of it.
  /// Safe to call from several threads.
  virtual void read(const std::string &tensor, uint64_t offset, std::span<uint8_t> out) const = 0;
};

/// Random finite weights: every byte is a function of (seed, tensor name, offset) alone, so any
/// part can be produced on its own, in any order, on any machine, by compiler and runtime alike.
/// Values are scaled by fan-in so that activations of a deep model stay finite (matrices uniform
/// with standard deviation 1/sqrt(columns); MXFP4: uniform codes under two neighbouring scales, the
/// deviation within a factor of sqrt(2); vectors in +-1/8, around 1 when the weight's or the
/// tensor's name contains "norm").
/// A tensor declared twice must be declared alike (BadInput).
std::unique_ptr<WeightSource> makeRandomSource(uint64_t seed, const std::vector<WeightDecl> &decls);

/// Logical rows of a weight as f32, row-major [count][columns], whatever the checkpoint holds.
/// MXFP4 is decoded exactly; scale byte 255 (NaN) fails with BadInput naming tensor and index, and
/// so does any value that is not finite. Rows or an expert outside of the weight: BadInput.
void readRowsF32(const WeightDecl &decl, const WeightSource &source, uint64_t expert,
                 uint64_t firstRow, uint64_t count, float *out);

/// Logical rows in MXFP4 as the checkpoint stores them: `codes` [count][columns/2] (element 2i in
/// the low nibble of byte i), `scales` [count][columns/32]. Every part must be stored as MXFP4.
void readRowsMxfp4(const WeightDecl &decl, const WeightSource &source, uint64_t expert,
                   uint64_t firstRow, uint64_t count, uint8_t *codes, uint8_t *scales);

} // namespace inf
