// The online softmax of a step's tiles, all heads together (codegen/KernelArgs.h, AttentionArgs),
// and the exp it is made of.
//
//   m of all heads -> fold of z over keys, m' = max(m, it), alpha = exp(m - m'), tile after tile
//   per head: p = exp(z - m') in place of z; sixteen sums of a head, one a lane: sum * alpha + p
//
// Most steps of a long context raise no head's m: one comparison a head and tile finds that out.
// Every alpha is then 1, exactly, and neither computed nor multiplied with.
//
// One register holds m of all heads, one alpha, in the end one sum (codegen/attention/HeadFold.h):
// what is done once a tile and head is a comparison, the exp and an FMA.
//
// With bf16 dots p is rounded to bf16 and the sums take it so. For vdpbf16ps and AMX tiles the p of
// two tiles are packed to pairs and share a line, that of the first one's z: 16 keys in its lower
// half, 16 in its upper one.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "codegen/attention/AttentionContext.h"

namespace inf {

class Softmax {
public:
  explicit Softmax(AttentionContext &attentionContext) : context(attentionContext) {}

  /// What a chunk starts from: finite, so that m - m' is never inf - inf.
  static constexpr float lowestMaximum = -1e30f;
  /// m = -1e30, all sums 0.
  void start();
  /// sum = a head's sixteen, folded as hsum does.
  void foldSums();
  /// z -> p of the frame's first `tiles` tiles; alpha of each. With masks, one a tile: z outside
  /// becomes -inf. `beside` is emitted between the heads, where there is one.
  using Beside = std::function<void(unsigned head)>;
  void update(unsigned tiles, std::span<const LaneMask> outside, const Beside &beside);

  /// The constants of exp: in registers where there are 32, else operands in memory.
  struct ExpConstants {
    explicit ExpConstants(AttentionContext &context);
    std::vector<Lanes16> held;
  };
  /// exp(x) for x <= 0 or NaN.
  Lanes16 exp(Lanes16 x, const ExpConstants &constants);

private:
  /// vpermw with one gives a half's sixteen words, each doubled; the mask clears the lower ones.
  struct WordTables {
    explicit WordTables(AttentionContext &context);
    std::vector<Lanes16> halves; ///< lower, upper
    RegisterPool::Lease upper;
  };

  void jumpWhereRaised(unsigned tiles, const Xbyak::Label &raised);
  void keepMaxima(unsigned tiles);
  void maxima(unsigned tiles, std::span<const LaneMask> outside);
  Lanes16 foldedMaximum(unsigned tile, const LaneMask *outside);
  void noteChange(const Lanes16 &before, const Lanes16 &after);
  void alphas(unsigned tiles, const ExpConstants &constants);
  void probabilities(unsigned tiles, const ExpConstants &constants, const Beside &beside);
  Lanes16 probability(unsigned tile, unsigned head, const ExpConstants &constants);
  void addToSums(Lanes16 &sums, Lanes16 p, unsigned tile, unsigned head);
  void packPairs(Lanes16 &sums, unsigned tile, unsigned head, std::vector<Lanes16> p,
                 const WordTables &words);
  LanesEmitter::Address sumsOf(unsigned head) const;
  LanesEmitter::Address scoresOf(unsigned tile, unsigned head) const;

  AttentionContext &context;
};

} // namespace inf
