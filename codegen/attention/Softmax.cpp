#include "codegen/attention/Softmax.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "codegen/Exp.h"
#include "codegen/attention/HeadFold.h"

namespace inf {
namespace {

/// Log2e, Ln2Hi, Ln2Lo, MinInput, then the polynomial's; the last two of those are both 1.
enum ExpConstant : unsigned { Log2e, Ln2Hi, Ln2Lo, MinInput, FirstCoefficient };
constexpr unsigned coefficientCount = unsigned(exppoly::coefficients.size());

float expConstant(unsigned index) {
  switch (index) {
  case Log2e:
    return exppoly::log2e;
  case Ln2Hi:
    return exppoly::ln2Hi;
  case Ln2Lo:
    return exppoly::ln2Lo;
  case MinInput:
    return exppoly::minInput;
  default:
    return exppoly::coefficients[index - FirstCoefficient];
  }
}

} // namespace

Softmax::ExpConstants::ExpConstants(AttentionContext &context) {
  if (!isWide(context.spec.isa))
    return;
  for (unsigned i = 0; i + 1 < FirstCoefficient + coefficientCount; ++i) {
    held.push_back(context.lanes->take("constant of exp"));
    context.lanes->setConstant(held.back(), expConstant(i));
  }
}

/// The operations of codegen/Exp.h, for x <= 0 or NaN: there is nothing to clamp above. With
/// opmasks the last addition does what a blend would.
Lanes16 Softmax::exp(Lanes16 x, const ExpConstants &constants) {
  KernelAssembler &a = context.a;
  LanesEmitter &lanes = *context.lanes;
  Lanes16 n = lanes.take("exponent"), p = lanes.take("polynomial");
  if (constants.held.empty()) {
    const LaneMask tooSmall = lanes.lessThanConstant(x, exppoly::minInput);
    lanes.multiplyConstant(n, x, exppoly::log2e);
    lanes.roundToInteger(n, n);
    lanes.subtractProduct(x, n, exppoly::ln2Hi);
    lanes.subtractProduct(x, n, exppoly::ln2Lo);
    lanes.setConstant(p, exppoly::coefficients[0]);
    for (unsigned i = 1; i < coefficientCount; ++i)
      lanes.fmaConstant(p, x, exppoly::coefficients[i]);
    lanes.scaleByPowerOfTwo(p, n);
    lanes.replaceWhere(tooSmall, p, 0.0f);
    return p;
  }
  constexpr uint8_t notLess = 0x15; // true for NaN
  const auto constant = [&](unsigned i) -> const VectorRegister & {
    return constants.held[std::min<size_t>(i, constants.held.size() - 1)].parts[0];
  };
  const Xbyak::Ymm &xs = x.parts[0], &ns = n.parts[0], &ps = p.parts[0];
  const RegisterPool::Lease lease = a.registers().take(RegisterFile::Mask, "lanes to keep");
  const Xbyak::Opmask keep(lease.index());
  a.vcmpps(keep, xs, constant(MinInput), notLess);
  a.vmulps(ns, xs, constant(Log2e));
  lanes.roundToInteger(n, n);
  a.vfnmadd231ps(xs, ns, constant(Ln2Hi));
  a.vfnmadd231ps(xs, ns, constant(Ln2Lo));
  a.vmovaps(ps, constant(FirstCoefficient));
  for (unsigned i = 1; i < coefficientCount; ++i)
    a.vfmadd213ps(ps, xs, constant(FirstCoefficient + i));
  a.vcvtps2dq(ns, ns);
  a.vpslld(ns, ns, 23);
  a.vpaddd(ps | keep | Xbyak::util::T_z, ps, ns);
  return p;
}

/// Lanes of no head start from -1e30 too: whatever they fold stays finite and is never read.
void Softmax::start() {
  LanesEmitter &lanes = *context.lanes;
  const AttentionFrame &layout = context.layout;
  const Lanes16 maximum = lanes.take("m"), sum = lanes.take("sum");
  lanes.setConstant(maximum, lowestMaximum);
  lanes.setZero(sum);
  lanes.store(context.frame + layout.runningMaximum, maximum);
  lanes.store(context.frame + layout.sum, sum);
}

void Softmax::update(unsigned tiles, const LaneMask *outside) {
  maxima(tiles, outside);
  const ExpConstants constants(context);
  alphas(tiles, constants);
  for (unsigned tile = 0; tile < tiles; ++tile)
    probabilities(tile, constants);
}

LanesEmitter::Address Softmax::scoresOf(unsigned tile, unsigned head) const {
  return context.frame + context.layout.scores + tile * context.layout.scoreTileBytes +
         head * AttentionFrame::lineBytes;
}

Lanes16 Softmax::foldedMaximum(unsigned tile, const LaneMask *outside) {
  LanesEmitter &lanes = *context.lanes;
  return emitHeadFold(context.a, lanes, HeadFoldKind::Max, context.spec.group, [&](unsigned head) {
    Lanes16 z = lanes.take("z");
    lanes.load(z, scoresOf(tile, head));
    if (outside) {
      lanes.replaceWhere(*outside, z, -std::numeric_limits<float>::infinity());
      lanes.store(scoresOf(tile, head), z);
    }
    return z;
  });
}

/// m' of each tile, and m - m' where alpha will be.
void Softmax::maxima(unsigned tiles, const LaneMask *outside) {
  LanesEmitter &lanes = *context.lanes;
  const AttentionFrame &layout = context.layout;
  Lanes16 before = lanes.take("m");
  const Lanes16 start = lanes.take("m before the step");
  lanes.load(start, context.frame + layout.runningMaximum);
  lanes.copy(before, start);
  for (unsigned tile = 0; tile < tiles; ++tile) {
    Lanes16 after = foldedMaximum(tile, outside);
    lanes.max(after, before, after);
    lanes.subtract(before, before, after);
    lanes.store(context.frame + layout.alpha + tile * AttentionFrame::lineBytes, before);
    lanes.store(context.frame + layout.maximum + tile * AttentionFrame::lineBytes, after);
    before = std::move(after);
  }
  lanes.store(context.frame + layout.runningMaximum, before);
  noteChange(start, before);
}

/// m never falls, so a step changed it where its ends differ; NaN counts as change.
void Softmax::noteChange(const Lanes16 &before, const Lanes16 &after) {
  constexpr uint8_t notEqual = 4; // true for NaN
  KernelAssembler &a = context.a;
  const Gpr changed = a.takeGeneral("heads with a new m"), more = a.takeGeneral("more of them");
  if (isWide(context.spec.isa)) {
    const RegisterPool::Lease lease = a.registers().take(RegisterFile::Mask, "new m");
    a.vcmpps(Xbyak::Opmask(lease.index()), before.parts[0], after.parts[0], notEqual);
    a.kmovw(changed.cvt32(), Xbyak::Opmask(lease.index()));
  } else {
    for (unsigned part = 0; part < 2; ++part) {
      a.vcmpps(before.parts[part], before.parts[part], after.parts[part], notEqual);
      a.vmovmskps(part == 0 ? changed.cvt32() : more.cvt32(), before.parts[part]);
    }
    a.add(changed, more);
  }
  a.mov(a.dword[context.frame + context.layout.changed], changed.cvt32());
}

void Softmax::alphas(unsigned tiles, const ExpConstants &constants) {
  KernelAssembler &a = context.a;
  LanesEmitter &lanes = *context.lanes;
  const auto alphaOf = [&](unsigned tile) {
    return context.frame + (context.layout.alpha + tile * AttentionFrame::lineBytes);
  };
  Xbyak::Label changed, done;
  a.cmp(a.dword[context.frame + context.layout.changed], 0);
  a.jne(changed);
  {
    const Lanes16 one = lanes.take("exp(0)");
    lanes.setConstant(one, 1.0f);
    for (unsigned tile = 0; tile < tiles; ++tile)
      lanes.store(alphaOf(tile), one);
  }
  a.jmp(done);
  a.L(changed);
  for (unsigned tile = 0; tile < tiles; ++tile) {
    const LanesEmitter::Address at = alphaOf(tile);
    Lanes16 difference = lanes.take("m - m'");
    lanes.load(difference, at);
    lanes.store(at, exp(std::move(difference), constants));
  }
  a.L(done);
}

void Softmax::probabilities(unsigned tile, const ExpConstants &constants) {
  KernelAssembler &a = context.a;
  LanesEmitter &lanes = *context.lanes;
  const AttentionFrame &layout = context.layout;
  const unsigned line = tile * AttentionFrame::lineBytes;
  const Lanes16 folded =
      emitHeadFold(a, lanes, HeadFoldKind::Add, context.spec.group, [&](unsigned head) {
        Lanes16 z = lanes.take("z");
        {
          const Lanes16 maximum = lanes.take("m' of the head");
          lanes.broadcast(maximum, context.frame + layout.maximum + line + laneOfHead(head) * 4);
          lanes.load(z, scoresOf(tile, head));
          lanes.subtract(z, z, maximum);
        }
        Lanes16 p = exp(std::move(z), constants);
        lanes.store(scoresOf(tile, head), p);
        return p;
      });
  const Lanes16 sum = lanes.take("sum"), alpha = lanes.take("alpha");
  lanes.load(sum, context.frame + layout.sum);
  lanes.load(alpha, context.frame + layout.alpha + line);
  lanes.fma(folded, sum, alpha);
  lanes.store(context.frame + layout.sum, folded);
}

} // namespace inf
