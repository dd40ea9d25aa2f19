// Rows in bf16 times bf16 weights in the order of tiles (codegen/KernelArgs.h, Bf16Order::Groups):
// what few rows do where many go to AMX (AmxBf16Product.cpp), with its bits.
//
//   for each group of 32 columns (the last may have fewer):
//     even = odd = 0
//     for each pair:  even += w0 x0;  odd += w1 x1          layout: Bf16Reduction.cpp
//     of a last group with fewer:  even += 0;  odd += 0     what the columns it lacks would do
//     total += even + odd
//
// A zero times a zero added to a sum changes -0 alone, which a chain can end in where a product
// fell below the normal numbers: one addition of 0 does what any number of them would.
//
// Vector registers: R = 4 rows, P = 2 panels: totals 8, even 8, odd 8, weights 4, x 2, zero 1: 31
// of 32. General registers: 7 by role, R rows, the stride, the group's end.
#include "codegen/linear/Bf16Pairs.h"
#include "codegen/linear/Reduction.h"

namespace inf {
namespace {

constexpr unsigned groupColumns = 32;

class Bf16GroupReduction final : public Reduction {
public:
  explicit Bf16GroupReduction(LinearContext &linearContext)
      : context(linearContext), a(context.a), lanes(*context.lanes) {}

  Tiles reduce(unsigned rows, unsigned panels) override {
    Tiles totals = context.takeTiles("total", rows, panels);
    Sums sums(context, rows, panels);
    sums.walk.begin();
    sums.apart.dropDenormals();
    groups(sums, totals);
    sums.apart.keepDenormals();
    return totals;
  }

private:
  /// Of one group.
  struct Sums {
    Sums(LinearContext &context, unsigned rows, unsigned panels)
        : even(context.takeTiles("sum of even columns", rows, panels)),
          odd(context.takeTiles("sum of odd columns", rows, panels)), apart(context, panels),
          walk(context, rows, panels) {}

    Tiles even, odd;
    TakenApart apart;
    PairWalk walk;
  };

  template <typename Body> static void forEach(const Tiles &tiles, Body body) {
    for (unsigned panel = 0; panel < tiles.size(); ++panel)
      for (unsigned r = 0; r < tiles[panel].size(); ++r)
        body(panel, r);
  }

  void groups(Sums &sums, const Tiles &totals) {
    const Gpr &end = context.groupEnd();
    Xbyak::Label whole, rest, done;
    a.mov(end, context.k);
    a.add(end, groupColumns);
    a.jg(rest);
    a.L(whole);
    wholeGroup(sums);
    join(sums, totals);
    a.add(end, groupColumns);
    a.jle(whole);
    a.test(context.k, context.k);
    a.jge(done);
    a.L(rest);
    clear(sums);
    a.loopUpToZero(context.k, 2, [&] { pair(sums); });
    addZeros(sums);
    join(sums, totals);
    a.L(done);
  }

  void wholeGroup(Sums &sums) {
    Xbyak::Label top;
    clear(sums);
    a.L(top);
    pair(sums);
    a.add(context.k, 2);
    a.cmp(context.k, context.groupEnd());
    a.jl(top);
  }

  void clear(const Sums &sums) {
    forEach(sums.even, [&](unsigned panel, unsigned r) {
      lanes.setZero(sums.even[panel][r]);
      lanes.setZero(sums.odd[panel][r]);
    });
  }

  void pair(Sums &sums) {
    const auto panels = static_cast<unsigned>(sums.even.size());
    sums.walk.prefetch();
    for (unsigned panel = 0; panel < panels; ++panel)
      sums.apart.loadWeights(panel, sums.walk.line(panel));
    for (unsigned r = 0; r < sums.even[0].size(); ++r) {
      sums.apart.spreadX(sums.walk.pairOf(r));
      for (unsigned panel = 0; panel < panels; ++panel) {
        sums.apart.addEven(sums.even[panel][r], panel);
        sums.apart.addOdd(sums.odd[panel][r], panel);
      }
    }
    sums.walk.next();
  }

  void addZeros(const Sums &sums) {
    const Lanes16 zero = lanes.take("zero");
    lanes.setZero(zero);
    forEach(sums.even, [&](unsigned panel, unsigned r) {
      lanes.add(sums.even[panel][r], sums.even[panel][r], zero);
      lanes.add(sums.odd[panel][r], sums.odd[panel][r], zero);
    });
  }

  void join(const Sums &sums, const Tiles &totals) {
    forEach(totals, [&](unsigned panel, unsigned r) {
      const Lanes16 &both = sums.even[panel][r];
      lanes.add(both, both, sums.odd[panel][r]);
      lanes.add(totals[panel][r], totals[panel][r], both);
    });
  }

  LinearContext &context;
  KernelAssembler &a;
  LanesEmitter &lanes;
};

} // namespace

std::unique_ptr<Reduction> createBf16GroupReduction(LinearContext &context) {
  return std::make_unique<Bf16GroupReduction>(context);
}

} // namespace inf
