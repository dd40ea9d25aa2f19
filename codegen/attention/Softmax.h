// The online softmax of a step's tiles, all heads together (codegen/KernelArgs.h, AttentionArgs),
// and the exp it is made of.
//
//   m of all heads -> fold of z over keys, m' = max(m, it), alpha = exp(m - m'), tile after tile
//   per head: p = exp(z - m') in place of z; their fold: sum = sum * alpha + hsum(p)
//
// Most steps of a long context raise no head's m. Every alpha is then 1, exactly, and neither
// computed nor multiplied with.
//
// One register holds m of all heads, one alpha, one sum (codegen/attention/HeadFold.h): what is
// done once a tile and head is the subtraction and the exp alone.
#pragma once

#include <functional>
#include <vector>

#include "codegen/attention/AttentionContext.h"

namespace inf {

class Softmax {
public:
  explicit Softmax(AttentionContext &attentionContext) : context(attentionContext) {}

  /// What a chunk starts from: finite, so that m - m' is never inf - inf.
  static constexpr float lowestMaximum = -1e30f;
  /// m = -1e30, sum = 0.
  void start();
  /// z -> p of the frame's first `tiles` tiles; alpha of each. With a mask, for one tile: z outside
  /// becomes -inf.
  void update(unsigned tiles, const LaneMask *outside);

  /// The constants of exp: in registers where there are 32, else operands in memory.
  struct ExpConstants {
    explicit ExpConstants(AttentionContext &context);
    std::vector<Lanes16> held;
  };
  /// exp(x) for x <= 0 or NaN.
  Lanes16 exp(Lanes16 x, const ExpConstants &constants);

private:
  void maxima(unsigned tiles, const LaneMask *outside);
  Lanes16 foldedMaximum(unsigned tile, const LaneMask *outside);
  void noteChange(const Lanes16 &before, const Lanes16 &after);
  void alphas(unsigned tiles, const ExpConstants &constants);
  void probabilities(unsigned tile, const ExpConstants &constants);
  LanesEmitter::Address scoresOf(unsigned tile, unsigned head) const;

  AttentionContext &context;
};

} // namespace inf
