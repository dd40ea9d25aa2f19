#include "codegen/attention/HeadFold.h"

#include <utility>

namespace inf {
namespace {

class HeadFolder {
public:
  HeadFolder(KernelAssembler &assembler, LanesEmitter &lanesEmitter, HeadFoldKind foldKind,
             unsigned groupHeads, const std::function<Lanes16(unsigned)> &leafBody)
      : a(assembler), lanes(lanesEmitter), kind(foldKind), group(groupHeads), leaf(leafBody) {}

  Lanes16 run() {
    Lanes16 result;
    for (unsigned part = 0; part < lanes.partCount(); ++part)
      if (2 * part < group) {
        result.parts.push_back(node(1, 2 * part));
      } else {
        result.parts.push_back(lanes.takeRegister("lanes of no head"));
        lanes.setZero(result.parts.back());
      }
    return result;
  }

private:
  static constexpr uint8_t lowHalves = 0b01'00'01'00, highHalves = 0b11'10'11'10;
  static constexpr uint8_t evenFours = 0b10'00'10'00, oddFours = 0b11'01'11'01;

  /// What is left after the step of `distance`, of `first` and the heads that share its register.
  VectorRegister node(unsigned distance, unsigned first) {
    const bool wide = isWide(a.isa);
    if (distance == 16)
      return std::move(leaf(first).parts[0]);
    if (distance == 8 && !wide)
      return foldParts(first);
    const unsigned second = first + neighbour(distance);
    VectorRegister low = node(2 * distance, first);
    if (second >= group)
      return step(distance, low, low);
    VectorRegister high = node(2 * distance, second);
    return step(distance, low, high);
  }

  /// How far apart the heads are that a step brings into one register.
  unsigned neighbour(unsigned distance) const {
    return distance == 4 && !isWide(a.isa) ? 1 : 8 / distance;
  }

  VectorRegister foldParts(unsigned head) {
    Lanes16 keys = leaf(head);
    fold(keys.parts[0], keys.parts[1]);
    return std::move(keys.parts[0]);
  }

  /// Lower lanes of both, folded with the upper lanes of both.
  VectorRegister step(unsigned distance, const VectorRegister &x, const VectorRegister &y) {
    VectorRegister lower = lanes.takeRegister("lower lanes");
    const VectorRegister upper = lanes.takeRegister("upper lanes");
    pick(distance, lower, x, y, false);
    pick(distance, upper, x, y, true);
    fold(lower, upper);
    return lower;
  }

  void pick(unsigned distance, const VectorRegister &to, const VectorRegister &x,
            const VectorRegister &y, bool upper) {
    if (distance == 8)
      a.vshuff64x2(to, x, y, upper ? highHalves : lowHalves);
    else if (distance == 2)
      a.vshufps(to, x, y, upper ? highHalves : lowHalves);
    else if (distance == 1)
      a.vshufps(to, x, y, upper ? oddFours : evenFours);
    else if (isWide(a.isa))
      a.vshuff64x2(to, x, y, upper ? oddFours : evenFours);
    else
      a.vperm2f128(to, x, y, upper ? 0x31 : 0x20);
  }

  void fold(const VectorRegister &x, const VectorRegister &y) {
    if (kind == HeadFoldKind::Add)
      a.vaddps(x, x, y);
    else
      a.vmaxps(x, x, y);
  }

  KernelAssembler &a;
  LanesEmitter &lanes;
  const HeadFoldKind kind;
  const unsigned group;
  const std::function<Lanes16(unsigned)> &leaf;
};

} // namespace

Lanes16 emitHeadFold(KernelAssembler &a, LanesEmitter &lanes, HeadFoldKind kind, unsigned group,
                     const std::function<Lanes16(unsigned head)> &leaf) {
  return HeadFolder(a, lanes, kind, group, leaf).run();
}

} // namespace inf
