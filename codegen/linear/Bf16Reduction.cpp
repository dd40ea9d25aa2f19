// Rows in bf16 (runtime/abi/ActivationRows.h) times bf16 weights, two columns at a time
// (codegen/KernelArgs.h).
//
//            pairs of columns ->                one panel: 16 outputs, a line of 64 bytes a pair
//          +------------------------------+
//   panel  | w0 w1 | w2 w3 | ...          | 16    acc[r] += w1 x1;  acc[r] += w0 x0
//          +------------------------------+
//   row r    x0 x1 | x2 x3 | ...                  a pair of x is a dword, spread over all lanes
//
// vdpbf16ps does both steps. Without it a pair is taken apart: its upper half is a float once the
// lower one is cleared, its lower half once it is shifted up; then FMAs, denormals being zero.
//
// Vector registers, as Lanes16, R the row tile, P the panels side by side:
//                               sums   weights   pair of x               of
//   vdpbf16ps    R = 6, P = 2    12       2      1                  15   32
//   AVX-512      R = 6, P = 2    12       4      2                  18   32
//   AVX2         R = 4, P = 1     4       2      1 (two halves)      7    8
// General registers: 7 by role, R rows, the stride: 14 with R = 6.
#include "codegen/Mxcsr.h"
#include "codegen/linear/Reduction.h"

namespace inf {
namespace {

/// As for q8 rows (IntegerReduction.cpp): fetched into the second level cache two pages ahead.
constexpr int prefetchBytes = 8704;
constexpr unsigned fewestRowsToPrefetch = 2;
constexpr uint32_t upperHalf = 0xFFFF0000u;

/// Pairs of columns of a tile: how weights wait, and how a pair of x meets them.
class PairDots {
public:
  using Address = LanesEmitter::Address;

  static std::unique_ptr<PairDots> create(LinearContext &context, unsigned panels);
  virtual ~PairDots() = default;

  virtual void begin() {}
  virtual void end() {}
  virtual void loadWeights(unsigned panel, const Address &line) = 0;
  /// sums[panel] += both columns, for every panel.
  virtual void add(const std::vector<const Lanes16 *> &sums, const Address &pair) = 0;

protected:
  explicit PairDots(LinearContext &linearContext)
      : context(linearContext), a(context.a), lanes(*context.lanes) {}

  LinearContext &context;
  KernelAssembler &a;
  LanesEmitter &lanes;
};

class DotInstruction final : public PairDots {
public:
  DotInstruction(LinearContext &linearContext, unsigned panels)
      : PairDots(linearContext), weights(lanes.takeMany("weights", panels)) {}

  void loadWeights(unsigned panel, const Address &line) override {
    lanes.load(weights[panel], line);
  }

  void add(const std::vector<const Lanes16 *> &sums, const Address &pair) override {
    const Lanes16 x = lanes.take("pair of x");
    lanes.broadcast(x, pair);
    for (size_t panel = 0; panel < sums.size(); ++panel)
      a.vdpbf16ps(sums[panel]->parts[0], weights[panel].parts[0], x.parts[0]);
  }

private:
  const std::vector<Lanes16> weights;
};

class TakenApart final : public PairDots {
public:
  TakenApart(LinearContext &linearContext, unsigned panels)
      : PairDots(linearContext), even(lanes.takeMany("even columns", panels)),
        odd(lanes.takeMany("odd columns", panels)), evenX(lanes.takeRegister("even x")),
        oddX(lanes.takeRegister("odd x")) {}

  void begin() override { setMxcsr(a, stepMxcsr | zeroDenormals); }
  void end() override { setMxcsr(a, stepMxcsr); }

  void loadWeights(unsigned panel, const Address &line) override {
    lanes.load(odd[panel], line);
    for (unsigned part = 0; part < lanes.partCount(); ++part)
      takeApart(even[panel].parts[part], odd[panel].parts[part]);
  }

  void add(const std::vector<const Lanes16 *> &sums, const Address &pair) override {
    a.vbroadcastss(oddX, a.dword[pair]);
    takeApart(evenX, oddX);
    for (size_t panel = 0; panel < sums.size(); ++panel)
      for (unsigned part = 0; part < lanes.partCount(); ++part)
        a.vfmadd231ps(sums[panel]->parts[part], odd[panel].parts[part], oddX);
    for (size_t panel = 0; panel < sums.size(); ++panel)
      for (unsigned part = 0; part < lanes.partCount(); ++part)
        a.vfmadd231ps(sums[panel]->parts[part], even[panel].parts[part], evenX);
  }

private:
  void takeApart(const Xbyak::Ymm &low, const Xbyak::Ymm &both) {
    a.vpslld(low, both, 16);
    lanes.bitAnd(both, upperHalf);
  }

  const std::vector<Lanes16> even, odd;
  const VectorRegister evenX, oddX;
};

std::unique_ptr<PairDots> PairDots::create(LinearContext &context, unsigned panels) {
  if (context.spec.isa == KernelIsa::Avx512Bf16)
    return std::make_unique<DotInstruction>(context, panels);
  return std::make_unique<TakenApart>(context, panels);
}

class Bf16Reduction final : public Reduction {
public:
  explicit Bf16Reduction(LinearContext &linearContext) : context(linearContext) {}

  Tiles reduce(unsigned rows, unsigned panels) override {
    Tiles totals = context.takeTiles("total", rows, panels);
    const std::unique_ptr<PairDots> dots = PairDots::create(context, panels);
    context.a.mov(context.k, context.arg(offsetof(LinearArgs, columns)));
    context.a.add(context.k, 1);
    context.a.and_(context.k, -2);
    context.pointAtRows(rows, sizeof(uint16_t));
    if (panels > 1)
      pointBehindGroup(panels);
    dots->begin();
    context.a.loopUpToZero(context.k, 2, [&] { pair(*dots, totals); });
    dots->end();
    return totals;
  }

private:
  static constexpr unsigned lineBytes = 64;

  /// temp = what is prefetched next.
  void pointBehindGroup(unsigned panels) {
    context.a.mov(context.temp, context.stride());
    context.a.imul(context.temp, context.temp, static_cast<int>(panels));
    context.a.add(context.temp, context.weights);
  }

  void pair(PairDots &dots, const Tiles &totals) {
    const auto panels = static_cast<unsigned>(totals.size());
    prefetch(static_cast<unsigned>(totals[0].size()), panels);
    for (unsigned panel = 0; panel < panels; ++panel)
      dots.loadWeights(panel, context.panelAt(panel));
    for (unsigned r = 0; r < totals[0].size(); ++r) {
      std::vector<const Lanes16 *> sums;
      for (const Tile &tile : totals)
        sums.push_back(&tile[r]);
      dots.add(sums, context.x[r] + context.k * 2);
    }
    context.a.add(context.cursor, lineBytes);
  }

  void prefetch(unsigned rows, unsigned panels) {
    if (rows < fewestRowsToPrefetch)
      return;
    if (panels == 1)
      return context.a.prefetcht1(context.a.ptr[context.cursor + prefetchBytes]);
    for (unsigned panel = 0; panel < panels; ++panel)
      context.a.prefetcht1(context.a.ptr[context.temp + panel * lineBytes]);
    context.a.add(context.temp, panels * lineBytes);
  }

  LinearContext &context;
};

} // namespace

std::unique_ptr<Reduction> createBf16Reduction(LinearContext &context) {
  return std::make_unique<Bf16Reduction>(context);
}

} // namespace inf
