// Exact dot products of packed codes with int8 activations: the vocabulary of integer kernels, as
// Lanes.h is of float ones. It works on one register at a time, zmm or ymm ("part" 0 or 1 of
// sixteen outputs); a dword lane is an output and holds four columns.
//
//   line of codes, 64 bytes    o0 o0 o0 o0 | o1 o1 o1 o1 | ...         4 columns of 16 outputs
//      decode: unsigned bytes  u  u  u  u  | ...                       value + an offset
//   x, four columns, spread    q0 q1 q2 q3 | q0 q1 q2 q3 | ...
//      dot:  sum[o] += u0 q0 + u1 q1 + u2 q2 + u3 q3
//
// The offset times the sum of the block's q is taken off by where a sum starts: ActivationRows.h
// has -16 times that sum.
//
//              stored       decoded to                         offset   start
//   MXFP4      a code       twice its value + 16: 4..28        16       minus16Sum
//   INT4       code + 8     the same: 0..15                    8        minus16Sum / 2
//   INT4A      the code     the same: 0..15                    0        0
//   INT8       code + 128   the same: 0..255                   128      minus16Sum * 8
//
// With vpdpbusd that is all. Without, vpmaddubsw adds two products in 16 bits, with saturation, and
// vpaddw more of them, until vpmaddwd widens. How many steps fit into 16 bits makes the passes:
//
//   MXFP4            4 steps:  4 * 2 * 28 * 127 = 28448 <= 32767      2 passes
//   INT4, INT4A      8 steps:  8 * 2 * 15 * 127 = 30480               1 pass
//   INT8             2 * 255 * 127 is too much for a single step, so its low nibbles (0..15) make
//                    one pass and its high nibbles another, which counts 16 times
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "codegen/Lanes.h"

namespace inf {

/// Which bits of a line's bytes are the codes.
enum class CodeBits { Low, High, Whole };

/// Four columns of a block, `column` the first, whose codes lie in one line.
struct DotStep {
  unsigned line;
  CodeBits bits;
  unsigned column;
};

/// Steps whose sum 16 bits hold (or any number, with vpdpbusd), and how often it counts.
struct DotPass {
  std::vector<DotStep> steps;
  unsigned weight = 1;
};

class DotEmitter {
public:
  using Address = LanesEmitter::Address;

  /// Codes of a panel on their way: the line as loaded, and decoded.
  struct Line {
    VectorRegister raw, codes;
  };
  /// The sums of one row in a block, one a panel. Without vpdpbusd `partials` are in 16 bits; where
  /// they are missing they use the registers of the sums. With it, one is what every second step
  /// adds to: a chain of eight takes 40 cycles on Emerald Rapids, and what waits in it fills the
  /// scheduler where one row's block is all there is to do.
  struct RowSums {
    std::vector<VectorRegister> sums, partials;
  };

  /// Uses vpdpbusd where the assembler's isa has it. Both must outlive the emitter.
  static std::unique_ptr<DotEmitter> create(KernelAssembler &assembler, LanesEmitter &lanes,
                                            WeightFormat format);
  DotEmitter(KernelAssembler &kernelAssembler, LanesEmitter &lanesEmitter, WeightFormat weights);
  DotEmitter(const DotEmitter &) = delete;
  DotEmitter &operator=(const DotEmitter &) = delete;
  virtual ~DotEmitter() = default;

  /// The steps of a block, in an order that loads as few lines as possible.
  const std::vector<DotPass> &passes() const { return blockPasses; }

  /// Loads tables and takes the registers that dots() and scale() borrow, for tiles of so many
  /// panels. To be paired with finish().
  void prepare(unsigned panels);
  void finish();

  Line takeLine();
  RowSums takeSums(unsigned rows, unsigned panels); ///< of one of the rows

  /// line.codes = the step's codes of a part. A step on the high nibbles finds the line in raw when
  /// the low ones came before it (`loaded`).
  void decode(const DotStep &step, const Line &line, const Address &lineStart, bool loaded);

  /// Before the first step, given where the row has the block's minus16Sum.
  virtual void start(const RowSums &row, const Address &minus16Sum) = 0;
  /// Adds codes * the four columns at x, for every panel: `step` of its pass.
  virtual void dots(const RowSums &row, const std::vector<Line> &lines, const Address &x,
                    size_t step) = 0;
  virtual void endPass(const RowSums &row, const DotPass &pass, const Address &minus16Sum) = 0;

  /// The other way to scale mxfp4, without w * a (linear/ExactScales.h; whole zmm registers):
  /// sums that start at the bits of origin, and end as the float origin + sum * w.
  void loadOrigin(const Xbyak::Ymm &origin, const Address &scales);
  void startAtOrigins(const RowSums &row, const std::vector<Line> &origins,
                      const Address &minus16Sum);
  /// total = fma(sum - origin, a, total); sum is used up.
  void scaleFromOrigin(const Xbyak::Ymm &total, const Xbyak::Ymm &sum, const Xbyak::Ymm &origin,
                       const Address &a);

  /// total = fma(float(sum), w * a, total); sum is used up.
  void scale(const Xbyak::Ymm &total, const Xbyak::Ymm &sum, const Xbyak::Ymm &w, const Address &a);
  /// negativeSum = float(-(sum of q)): to be taken once a row.
  void loadNegativeSum(const Xbyak::Ymm &negativeSum, const Address &minus16Sum);
  /// total = fma(minimum * a, sum of q, total)
  void addMinimum(const Xbyak::Ymm &total, const Xbyak::Ymm &minimum, const Address &a,
                  const Xbyak::Ymm &negativeSum);

protected:
  /// sum = where a sum starts.
  void loadStart(const Xbyak::Ymm &sum, const Address &minus16Sum);
  bool startsAtZero() const { return format == WeightFormat::INT4A; }
  void spread(const Xbyak::Ymm &to, const Address &dword);
  const Xbyak::Ymm &activations() const { return *spreadActivations; }
  virtual bool needsProducts(unsigned panels) const = 0;
  virtual unsigned partialsFor(unsigned rows, unsigned panels) const = 0;
  const Xbyak::Ymm &products() const { return *productsRegister; }

  KernelAssembler &assembler;
  LanesEmitter &lanes;
  const WeightFormat format;
  std::vector<DotPass> blockPasses;

private:
  void keepNibble(const Xbyak::Ymm &to, const Xbyak::Ymm &from);
  void takeTable();
  void multiplyByScale(const Xbyak::Ymm &to, const Xbyak::Ymm &w, const Address &a);

  std::optional<VectorRegister> table, nibbles, spreadActivations, productsRegister;
};

} // namespace inf
