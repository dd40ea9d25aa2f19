// Rows of floats (codegen/KernelArgs.h).
//
//            columns ->                          one panel: 16 outputs, one Lanes16 a column
//          +--------------------------+
//   panel  | w[0] w[1] w[2] ...       |  16     acc[r] += w[k] * broadcast(x[r][k])
//          +--------------------------+
//   x  row 0: x[0] x[1] ...                     weights are decoded once a column and used by
//      row 1: ...                               every row of the tile
//
// Vector registers, as Lanes16 (AVX-512: 32 of one register, AVX2: 8 of two), R the row tile, P the
// panels side by side:
//   dense:   2 R P accumulators (even, odd k) + 1 weights (+ half a one to broadcast on AVX2)
//   blocks:  R P chains + R P totals + 1 values (scales, a sum of x) + 1 or half a one for the
//   mxfp4
//            table, half a one for signs or to broadcast on AVX2
// AVX-512: R = 8, P = 1 and R = 2, P = 4 take 18;  AVX2: R = 2, P = 1 and R = 1, P = 2 take 6.5 of
// 8, R = 4 would take over 8.
#include "codegen/linear/Reduction.h"

namespace inf {
namespace {

/// even = w[0] x[0] + w[2] x[2] + ...;  odd = w[1] x[1] + ...;  even + odd
class DenseReduction final : public Reduction {
public:
  explicit DenseReduction(LinearContext &linearContext) : context(linearContext) {}

  Tiles reduce(unsigned rows, unsigned panels) override {
    KernelAssembler &a = context.a;
    Tiles even = context.takeTiles("even sum", rows, panels);
    const Tiles odd = context.takeTiles("odd sum", rows, panels);
    a.mov(context.k, context.arg(offsetof(LinearArgs, columns)));
    a.and_(context.k, -2);
    context.pointAtRows(rows, sizeof(float));

    Xbyak::Label noPairs, noTail;
    a.jz(noPairs, Xbyak::CodeGenerator::T_NEAR);
    a.loopUpToZero(context.k, 2, [&] {
      column(even, 0);
      column(odd, 1);
      a.add(context.cursor, 2 * columnBytes);
    });
    a.L(noPairs);
    a.test(a.byte[context.args + offsetof(LinearArgs, columns)], 1);
    a.jz(noTail, Xbyak::CodeGenerator::T_NEAR);
    column(even, 0);
    a.add(context.cursor, columnBytes);
    a.L(noTail);

    for (unsigned panel = 0; panel < panels; ++panel)
      for (unsigned r = 0; r < rows; ++r)
        context.lanes->add(even[panel][r], even[panel][r], odd[panel][r]);
    return even;
  }

private:
  /// chains[panel][r] += w[panel][k + ahead] * x[r][k + ahead], weights at the cursor.
  void column(const Tiles &chains, unsigned ahead) {
    const Lanes16 w = context.lanes->take("weights");
    for (unsigned panel = 0; panel < chains.size(); ++panel) {
      context.lanes->loadElements(w, context.spec.weights,
                                  context.panelAt(panel) + ahead * columnBytes);
      for (unsigned r = 0; r < chains[panel].size(); ++r)
        context.lanes->fmaBroadcast(chains[panel][r], w, context.x[r] + context.k * 4 + ahead * 4);
    }
  }

  LinearContext &context;
  const unsigned columnBytes = static_cast<unsigned>(weightBytes(context.spec.weights, panelRows));
};

/// Per block: chain = sum over the 32 columns of code value * x, from 0;  total = chain * scale +
/// total. The chains of successive blocks are independent, so the core overlaps them.
class FloatBlockReduction final : public Reduction {
public:
  explicit FloatBlockReduction(LinearContext &linearContext) : context(linearContext) {}

  Tiles reduce(unsigned rows, unsigned panels) override {
    Tiles totals = context.takeTiles("total", rows, panels);
    const Lanes16 table = context.lanes->takeCodeTable(format);
    context.a.mov(context.k, context.arg(offsetof(LinearArgs, columns)));
    context.pointAtRows(rows, sizeof(float));
    context.a.loopUpToZero(context.k, blockColumns, [&] { block(totals, table); });
    return totals;
  }

private:
  using Address = LanesEmitter::Address;

  void block(const Tiles &totals, const Lanes16 &table) {
    {
      const auto panels = static_cast<unsigned>(totals.size());
      const auto rows = static_cast<unsigned>(totals[0].size());
      const Tiles chains = context.takeTiles("block chain", rows, panels);
      const Lanes16 values = context.lanes->take("code values or scales");
      for (unsigned column = 0; column < blockColumns; ++column)
        addColumn(chains, values, table, column);
      for (unsigned panel = 0; panel < panels; ++panel) {
        context.lanes->loadScales(values, format, scalesOf(panel));
        for (unsigned r = 0; r < rows; ++r)
          context.lanes->fma(totals[panel][r], chains[panel][r], values);
      }
    }
    if (format == WeightFormat::INT4A)
      addMinimums(totals);
    context.a.add(context.cursor, blockBytes);
  }

  void addColumn(const Tiles &chains, const Lanes16 &values, const Lanes16 &table,
                 unsigned column) {
    const bool whole = format == WeightFormat::INT8;
    const unsigned inLines = whole ? column : column % 16;
    const unsigned shift = inLines % 4 * 8 + (whole ? 0 : column / 16 * 4);
    for (unsigned panel = 0; panel < chains.size(); ++panel) {
      context.lanes->codeValues(values, format, table, context.panelAt(panel) + inLines / 4 * 64,
                                shift);
      for (unsigned r = 0; r < chains[panel].size(); ++r)
        context.lanes->fmaBroadcast(chains[panel][r], values,
                                    context.x[r] + context.k * 4 + column * 4);
    }
  }

  /// total = minimum * (x[0] + ... + x[31]) + total
  void addMinimums(const Tiles &totals) {
    const Lanes16 sum = context.lanes->take("sum of x"), minimum = context.lanes->take("minimums");
    for (unsigned r = 0; r < totals[0].size(); ++r) {
      context.lanes->setZero(sum);
      for (unsigned column = 0; column < blockColumns; ++column)
        context.lanes->addBroadcast(sum, context.x[r] + context.k * 4 + column * 4);
      for (unsigned panel = 0; panel < totals.size(); ++panel) {
        context.lanes->loadScales(minimum, format, scalesOf(panel) + 16 * sizeof(uint16_t));
        context.lanes->fma(totals[panel][r], minimum, sum);
      }
    }
  }

  Address scalesOf(unsigned panel) const { return context.panelAt(panel) + blockCodeBytes(format); }

  LinearContext &context;
  const WeightFormat format = context.spec.weights;
  const unsigned blockBytes =
      static_cast<unsigned>(weightBytes(context.spec.weights, panelRows *blockColumns));
};

} // namespace

std::unique_ptr<Reduction> createDenseReduction(LinearContext &context) {
  return std::make_unique<DenseReduction>(context);
}

std::unique_ptr<Reduction> createFloatBlockReduction(LinearContext &context) {
  return std::make_unique<FloatBlockReduction>(context);
}

} // namespace inf
