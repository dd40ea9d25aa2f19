// What both orders of sums of bf16 rows share (Bf16Reduction.cpp, Bf16GroupReduction.cpp): the walk
// along pairs of columns, and pairs taken apart for FMAs.
#pragma once

#include "codegen/linear/LinearContext.h"

namespace inf {

/// Where rows and panels are read, a pair of columns at a time: a line of a panel at the context's
/// cursor, a dword of a row at k.
class PairWalk {
public:
  using Address = LanesEmitter::Address;
  static constexpr unsigned lineBytes = 64;

  PairWalk(LinearContext &linearContext, unsigned rowCount, unsigned panelCount)
      : context(linearContext), rows(rowCount), panels(panelCount) {}

  /// At the first pair: k is the negative number of columns, made even.
  void begin();
  /// Asks for what is read a while later; called once a pair.
  void prefetch();
  Address line(unsigned panel) const { return context.panelAt(panel); }
  Address pairOf(unsigned row) const { return context.x[row] + context.k * 2; }
  /// To the next line; k is the caller's to count.
  void next() { context.a.add(context.cursor, lineBytes); }

private:
  LinearContext &context;
  const unsigned rows, panels;
};

/// A pair as two floats: its upper half is one once the lower half is cleared, its lower half once
/// it is shifted up. Holds 2 P Lanes16 of weights and a pair of x.
class TakenApart {
public:
  TakenApart(LinearContext &linearContext, unsigned panels);

  /// Denormals count as zero, read and written, and are themselves again.
  void dropDenormals();
  void keepDenormals();

  void loadWeights(unsigned panel, const LanesEmitter::Address &line);
  void spreadX(const LanesEmitter::Address &pair);
  /// sum = fma(weights of that half of the columns, x, sum)
  void addOdd(const Lanes16 &sum, unsigned panel);
  void addEven(const Lanes16 &sum, unsigned panel);

private:
  void takeApart(const Xbyak::Ymm &low, const Xbyak::Ymm &both);

  KernelAssembler &a;
  LanesEmitter &lanes;
  const std::vector<Lanes16> even, odd;
  const VectorRegister evenX, oddX;
};

} // namespace inf
