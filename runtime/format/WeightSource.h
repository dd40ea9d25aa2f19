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
  /// What was read need not stay resident: a mapped file's pages leave this process (they remain in
  /// the system's cache). May be called while others read.
  virtual void forget() const {}
};

/// Random finite weights: every byte is a function of (seed, tensor name, offset) alone, so any
/// part can be produced on its own, in any order, on any machine, by compiler and runtime alike.
/// Values are scaled by fan-in so that activations of a deep model stay finite (matrices uniform
/// with standard deviation 1/sqrt(columns); block formats: uniform codes under scales that vary by
/// two, the deviation within a factor of sqrt(2); vectors in +-1/8, around 1 when the weight's or
/// the tensor's name contains "norm").
/// A tensor declared twice must be declared alike (BadInput).
std::unique_ptr<WeightSource> makeRandomSource(uint64_t seed, const std::vector<WeightDecl> &decls);

/// Logical rows of a weight as f32, row-major [count][columns], whatever the checkpoint holds.
/// Block formats are decoded exactly (int4a: rounded once). Any value that is not finite (MXFP4's
/// scale byte 255, an infinite f16 scale) fails with BadInput naming tensor and index. Rows or an
/// expert outside of the weight: BadInput.
void readRowsF32(const WeightDecl &decl, const WeightSource &source, uint64_t expert,
                 uint64_t firstRow, uint64_t count, float *out);

/// The same rows after a passage through `format`: the values that a model packed in it holds.
/// Fails as packing does. Block formats: columns % 32 == 0.
void readRowsAs(const WeightDecl &decl, WeightFormat format, const WeightSource &source,
                uint64_t expert, uint64_t firstRow, uint64_t count, float *out);

} // namespace inf
