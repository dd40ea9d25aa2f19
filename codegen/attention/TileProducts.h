// The products of attention in bf16 dots on AMX tiles, in the order of tiles (codegen/KernelArgs.h,
// Bf16Order::Groups): scores as Scores.h has them, weighted values as WeightedValues.h.
//
//             32 dimensions                16 keys               scores: 16 keys at a time
//           +---------------+   16 pairs  +--------------+
//   heads   | q bf16        |   of dims   | k0 k0|k1 k1  |       keys lie in a block as here
//           +---------------+             +--------------+
//             32 keys                      16 dimensions         values: 32 keys at a time
//           +---------------+   16 pairs  +--------------+
//   heads   | p bf16        |   of keys   | v0 v0|v1 v1  |       values too, their lines apart
//           +---------------+             +--------------+
//
// The heads of one row that share a kv head are the rows of the first operand, all of them at once;
// what the cache holds is loaded as it lies there. Eight heads leave half of what a tile could
// multiply unused: keys and values are what tiles are loaded for.
#pragma once

#include <vector>

#include "codegen/attention/AttentionContext.h"
#include "codegen/attention/StepFetch.h"

namespace inf {

class TileProducts {
public:
  explicit TileProducts(AttentionContext &attentionContext)
      : context(attentionContext), a(attentionContext.a), lanes(*attentionContext.lanes) {}

  /// Before the first product of a call.
  void configure();

  /// z[h][16 keys] of each tile into the frame.
  void scores(unsigned tiles, StepFetch &fetch);
  /// acc of a step of whole groups.
  void wholeValues(unsigned tiles, StepFetch &fetch);
  /// acc of the keys from the frame's first lane to its last, of one group of keys.
  void partialValues(StepFetch &fetch);

private:
  using Address = AttentionContext::Address;
  static constexpr unsigned lineBytes = AttentionContext::lineBytes;
  static constexpr unsigned tileKeys = AttentionContext::tileKeys;

  /// Sixteen dimensions each, with a tile of sums, from dimension `first` on.
  struct Pass {
    unsigned first, lines;
  };
  /// Bytes between rows of tiles: of acc, and of pairs of keys in values; of what lies line by
  /// line.
  struct Strides {
    Gpr ofDimensions, ofLines;
  };

  std::vector<Pass> passes() const;
  Strides takeStrides();
  void scale(unsigned tiles);
  /// acc += p of the group * its values, the first of which is at `values`.
  void multiply(Pass pass, unsigned group, const Strides &strides, const Address &values);
  /// acc * alpha of the group into tiles, where those of the group before may be already.
  void bringSums(Pass pass, unsigned group, const Strides &strides);
  void loadSums(Pass pass, const Strides &strides);
  void storeSums(Pass pass, const Strides &strides);
  void copyValues();

  Address accAt(Pass pass, unsigned line, unsigned head) const {
    return context.out +
           ((pass.first + line * 16) * AttentionContext::floatBytes + head * context.headBytes());
  }
  unsigned groupBytes() const { return context.groupTiles() * context.tileBytes(); }

  AttentionContext &context;
  KernelAssembler &a;
  LanesEmitter &lanes;
};

} // namespace inf
