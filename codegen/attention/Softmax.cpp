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

Softmax::WordTables::WordTables(AttentionContext &context) {
  for (uint32_t firstWord : {0u, 16u}) {
    std::vector<uint32_t> doubled;
    for (uint32_t word = firstWord; word < firstWord + 16; ++word)
      doubled.push_back(word << 16 | word);
    halves.push_back(context.lanes->take("words of a half"));
    context.lanes->setBits(halves.back(), doubled);
  }
  upper = context.a.registers().take(RegisterFile::Mask, "upper words");
  const Gpr bits = context.a.takeGeneral("bits of the mask");
  context.a.mov(bits.cvt32(), 0xAAAAAAAAu);
  context.a.kmovd(Xbyak::Opmask(upper.index()), bits.cvt32());
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
  const Lanes16 maximum = lanes.take("m"), zero = lanes.take("zero");
  lanes.setConstant(maximum, lowestMaximum);
  lanes.setZero(zero);
  lanes.store(context.frame + context.layout.runningMaximum, maximum);
  for (unsigned head = 0; head < context.spec.group; ++head)
    lanes.store(sumsOf(head), zero);
}

void Softmax::foldSums() {
  LanesEmitter &lanes = *context.lanes;
  const Lanes16 folded =
      emitHeadFold(context.a, lanes, HeadFoldKind::Add, context.spec.group, [&](unsigned head) {
        Lanes16 sums = lanes.take("sums");
        lanes.load(sums, sumsOf(head));
        return sums;
      });
  lanes.store(context.frame + context.layout.sum, folded);
}

void Softmax::update(unsigned tiles, std::span<const LaneMask> outside, const Beside &beside) {
  Xbyak::Label raised, settled;
  if (outside.empty()) {
    jumpWhereRaised(tiles, raised);
    keepMaxima(tiles);
    context.a.jmp(settled);
    context.a.L(raised);
  }
  maxima(tiles, outside);
  {
    const ExpConstants constants(context);
    alphas(tiles, constants);
  }
  context.a.L(settled);
  const ExpConstants constants(context);
  probabilities(tiles, constants, beside);
}

/// Where some z is above its head's m, or either is NaN.
void Softmax::jumpWhereRaised(unsigned tiles, const Xbyak::Label &raised) {
  constexpr uint8_t notLessOrEqual = 6; // true for NaN
  LanesEmitter &lanes = *context.lanes;
  const LaneMask any = lanes.noLanes();
  for (unsigned head = 0; head < context.spec.group; ++head) {
    const LanesEmitter::Address maximum =
        context.frame + (context.layout.runningMaximum + laneOfHead(head) * 4);
    for (unsigned tile = 0; tile < tiles; ++tile) {
      const Lanes16 z = lanes.take("z");
      lanes.load(z, scoresOf(tile, head));
      lanes.joinCompared(any, z, notLessOrEqual, maximum);
    }
  }
  lanes.jumpIfAny(any, raised);
}

/// As maxima() and alphas() leave the frame where no m changed.
void Softmax::keepMaxima(unsigned tiles) {
  KernelAssembler &a = context.a;
  LanesEmitter &lanes = *context.lanes;
  const AttentionFrame &layout = context.layout;
  const Lanes16 maximum = lanes.take("m"), one = lanes.take("exp(0)");
  lanes.load(maximum, context.frame + layout.runningMaximum);
  lanes.setConstant(one, 1.0f);
  for (unsigned tile = 0; tile < tiles; ++tile) {
    lanes.store(context.frame + (layout.maximum + tile * AttentionFrame::lineBytes), maximum);
    lanes.store(context.frame + (layout.alpha + tile * AttentionFrame::lineBytes), one);
  }
  a.mov(a.dword[context.frame + layout.changed], 0);
}

LanesEmitter::Address Softmax::sumsOf(unsigned head) const {
  return context.frame + (context.layout.laneSums + head * AttentionFrame::lineBytes);
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

/// m' of each tile, and m - m' where alpha will be. Tiles of a group share one m', which is m for
/// all but the first.
void Softmax::maxima(unsigned tiles, std::span<const LaneMask> outside) {
  LanesEmitter &lanes = *context.lanes;
  const AttentionFrame &layout = context.layout;
  Lanes16 before = lanes.take("m");
  const Lanes16 start = lanes.take("m before the step");
  lanes.load(start, context.frame + layout.runningMaximum);
  lanes.copy(before, start);
  const auto fold = [&](unsigned tile) {
    return foldedMaximum(tile, outside.empty() ? nullptr : &outside[tile]);
  };
  for (unsigned first = 0; first < tiles; first += context.groupTiles()) {
    Lanes16 after = fold(first);
    for (unsigned tile = first + 1; tile < first + context.groupTiles(); ++tile) {
      const Lanes16 more = fold(tile);
      lanes.max(after, after, more);
    }
    lanes.max(after, before, after);
    for (unsigned tile = first; tile < first + context.groupTiles(); ++tile) {
      lanes.subtract(before, before, after);
      lanes.store(context.frame + layout.alpha + tile * AttentionFrame::lineBytes, before);
      lanes.store(context.frame + layout.maximum + tile * AttentionFrame::lineBytes, after);
      lanes.copy(before, after);
    }
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

/// Head after head, so that the exps of a head's tiles overlap.
void Softmax::probabilities(unsigned tiles, const ExpConstants &constants, const Beside &beside) {
  LanesEmitter &lanes = *context.lanes;
  std::optional<WordTables> words;
  if (context.dotInstruction())
    words.emplace(context);
  for (unsigned head = 0; head < context.spec.group; ++head) {
    if (beside)
      beside(head);
    Lanes16 sums = lanes.take("sums");
    lanes.load(sums, sumsOf(head));
    if (context.dotInstruction()) {
      for (unsigned tile = 0; tile < tiles; tile += 2) {
        std::vector<Lanes16> p;
        for (unsigned t = tile; t < std::min(tile + 2, tiles); ++t)
          p.push_back(probability(t, head, constants));
        packPairs(sums, tile, head, std::move(p), *words);
      }
    } else {
      for (unsigned tile = 0; tile < tiles; ++tile) {
        Lanes16 p = probability(tile, head, constants);
        if (context.bf16Dots())
          lanes.roundToBf16(p);
        lanes.store(scoresOf(tile, head), p);
        addToSums(sums, std::move(p), tile, head);
      }
    }
    lanes.store(sumsOf(head), sums);
  }
}

/// exp(z - m'), not rounded yet.
Lanes16 Softmax::probability(unsigned tile, unsigned head, const ExpConstants &constants) {
  LanesEmitter &lanes = *context.lanes;
  const unsigned line = tile * AttentionFrame::lineBytes;
  Lanes16 z = lanes.take("z");
  {
    const Lanes16 maximum = lanes.take("m' of the head");
    lanes.broadcast(maximum,
                    context.frame + (context.layout.maximum + line + laneOfHead(head) * 4));
    lanes.load(z, scoresOf(tile, head));
    lanes.subtract(z, z, maximum);
  }
  return exp(std::move(z), constants);
}

/// sums = sums * alpha + p
void Softmax::addToSums(Lanes16 &sums, Lanes16 p, unsigned tile, unsigned head) {
  context.lanes->fmaBroadcast(
      p, sums,
      context.frame +
          (context.layout.alpha + tile * AttentionFrame::lineBytes + laneOfHead(head) * 4));
  sums = std::move(p);
}

/// p of one or two tiles to pairs in the line of the first one's z, and, rounded, to the sums. A
/// word becomes a float again by being doubled and its lower half cleared.
void Softmax::packPairs(Lanes16 &sums, unsigned tile, unsigned head, std::vector<Lanes16> p,
                        const WordTables &words) {
  KernelAssembler &a = context.a;
  const Lanes16 pairs = context.lanes->take("pairs");
  a.vcvtne2ps2bf16(pairs.parts[0], p.back().parts[0], p.front().parts[0]);
  context.lanes->store(scoresOf(tile, head), pairs);
  const Xbyak::Opmask upperWords(words.upper.index());
  for (size_t i = 0; i < p.size(); ++i) {
    const Xbyak::Zmm rounded(p[i].parts[0].getIdx());
    a.vpermw(rounded | upperWords | Xbyak::util::T_z, Xbyak::Zmm(words.halves[i].parts[0].getIdx()),
             pairs.parts[0]);
    addToSums(sums, std::move(p[i]), tile + static_cast<unsigned>(i), head);
  }
}

} // namespace inf
