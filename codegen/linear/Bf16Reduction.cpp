// Rows in bf16 (runtime/abi/ActivationRows.h) times bf16 weights, two columns at a time, summed
// along one chain (codegen/KernelArgs.h, Bf16Order::Pairs).
//
//            pairs of columns ->                one panel: 16 outputs, a line of 64 bytes a pair
//          +------------------------------+
//   panel  | w0 w1 | w2 w3 | ...          | 16    acc[r] += w1 x1;  acc[r] += w0 x0
//          +------------------------------+
//   row r    x0 x1 | x2 x3 | ...                  a pair of x is a dword, spread over all lanes
//
// vdpbf16ps does both steps. Without it a pair is taken apart; then FMAs, denormals being zero.
//
// Vector registers, as Lanes16, R the row tile, P the panels side by side:
//                               sums   weights   pair of x               of
//   vdpbf16ps    R = 6, P = 2    12       2      1                  15   32
//   AVX-512      R = 6, P = 2    12       4      2                  18   32
//   AVX2         R = 4, P = 1     4       2      1 (two halves)      7    8
// General registers: 7 by role, R rows, the stride: 14 with R = 6.
#include "codegen/linear/Bf16Pairs.h"
#include "codegen/linear/Reduction.h"

namespace inf {
namespace {

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
};

class DotInstruction final : public PairDots {
public:
  DotInstruction(LinearContext &context, unsigned panels)
      : a(context.a), lanes(*context.lanes), weights(lanes.takeMany("weights", panels)) {}

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
  KernelAssembler &a;
  LanesEmitter &lanes;
  const std::vector<Lanes16> weights;
};

class FmaPairs final : public PairDots {
public:
  FmaPairs(LinearContext &context, unsigned panels) : apart(context, panels) {}

  void begin() override { apart.dropDenormals(); }
  void end() override { apart.keepDenormals(); }
  void loadWeights(unsigned panel, const Address &line) override { apart.loadWeights(panel, line); }

  void add(const std::vector<const Lanes16 *> &sums, const Address &pair) override {
    apart.spreadX(pair);
    for (unsigned panel = 0; panel < sums.size(); ++panel)
      apart.addOdd(*sums[panel], panel);
    for (unsigned panel = 0; panel < sums.size(); ++panel)
      apart.addEven(*sums[panel], panel);
  }

private:
  TakenApart apart;
};

std::unique_ptr<PairDots> PairDots::create(LinearContext &context, unsigned panels) {
  if (context.spec.isa == KernelIsa::Avx512Bf16)
    return std::make_unique<DotInstruction>(context, panels);
  return std::make_unique<FmaPairs>(context, panels);
}

class Bf16Reduction final : public Reduction {
public:
  explicit Bf16Reduction(LinearContext &linearContext) : context(linearContext) {}

  Tiles reduce(unsigned rows, unsigned panels) override {
    Tiles totals = context.takeTiles("total", rows, panels);
    const std::unique_ptr<PairDots> dots = PairDots::create(context, panels);
    PairWalk walk(context, rows, panels);
    walk.begin();
    dots->begin();
    context.a.loopUpToZero(context.k, 2, [&] { pair(walk, *dots, totals); });
    dots->end();
    return totals;
  }

private:
  void pair(PairWalk &walk, PairDots &dots, const Tiles &totals) {
    walk.prefetch();
    for (unsigned panel = 0; panel < totals.size(); ++panel)
      dots.loadWeights(panel, walk.line(panel));
    for (unsigned r = 0; r < totals[0].size(); ++r) {
      std::vector<const Lanes16 *> sums;
      for (const Tile &tile : totals)
        sums.push_back(&tile[r]);
      dots.add(sums, walk.pairOf(r));
    }
    walk.next();
  }

  LinearContext &context;
};

} // namespace

std::unique_ptr<Reduction> createBf16Reduction(LinearContext &context) {
  return std::make_unique<Bf16Reduction>(context);
}

} // namespace inf
