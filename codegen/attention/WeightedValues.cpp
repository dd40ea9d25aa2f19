#include "codegen/attention/WeightedValues.h"

#include <algorithm>

#include "codegen/attention/HeadFold.h"
#include "codegen/attention/NextBlock.h"
#include "codegen/attention/PairMask.h"

namespace inf {

/// body(lines, d) for all dimensions, those of `lines` from d on. The rest comes last: what the
/// whole passes leave over, and half a line.
template <typename Body> void WeightedValues::forEachPass(Body body) {
  const Gpr d = a.takeGeneral("first dimension");
  const unsigned passDims = context.shape.valueLines * 16, rest = context.spec.headDim % passDims;
  a.loopBelow(d, context.spec.headDim - rest, passDims,
              [&] { body(Lines{context.shape.valueLines}, d); });
  if (rest != 0) // d is where the loop ended
    body(Lines{(rest + 15) / 16, context.shape.halfLine}, d);
}

/// Loads the accumulators of the sub-group and of the lines from d on, body(acc), stores them.
void WeightedValues::accumulate(HeadRange range, Lines lines, const Gpr &d, const auto &body) {
  const HeadSums acc = takeHeadSums(lanes, lines.count, range.count);
  const auto at = [&](unsigned line, unsigned h) {
    return context.out + d * floatBytes +
           ((range.first + h) * context.headBytes() + line * lineBytes);
  };
  for (unsigned line = 0; line < lines.count; ++line)
    for (unsigned h = 0; h < range.count; ++h)
      lines.isHalf(line) ? lanes.loadHalf(acc[line][h], at(line, h))
                         : lanes.load(acc[line][h], at(line, h));
  body(acc);
  for (unsigned line = 0; line < lines.count; ++line)
    for (unsigned h = 0; h < range.count; ++h)
      lines.isHalf(line) ? lanes.storeHalf(at(line, h), acc[line][h])
                         : lanes.store(at(line, h), acc[line][h]);
}

void WeightedValues::scaleByAlpha(HeadRange range, const HeadSums &acc, const Address &alphaLine) {
  Xbyak::Label unchanged;
  a.cmp(a.dword[context.frame + context.layout.changed], 0);
  a.je(unchanged);
  for (unsigned h = 0; h < range.count; ++h) {
    const VectorRegister alpha = lanes.takeRegister("alpha");
    a.vbroadcastss(alpha, a.dword[alphaLine + laneOfHead(range.first + h) * floatBytes]);
    for (const std::vector<Lanes16> &line : acc)
      for (const VectorRegister &part : line[h].parts)
        a.vmulps(part, part, alpha);
  }
  a.L(unchanged);
}

/// acc[line][h] += V[line] * p[h]; `p` is head 0's.
void WeightedValues::addValue(const OuterProduct &product, HeadRange range, const HeadSums &acc,
                              Lines lines, const Address &value, const Address &p,
                              std::optional<Address> mask) {
  std::vector<CacheLine> elements;
  std::vector<Address> scalars;
  for (unsigned line = 0; line < lines.count; ++line)
    elements.push_back({value + line * lineBytes, lines.isHalf(line), mask});
  for (unsigned h = 0; h < range.count; ++h)
    scalars.push_back(p + (range.first + h) * lineBytes);
  product.emit(acc, elements, scalars);
}

/// A line of values, of one key or of a pair, has four bytes a dimension. Pairs of p in bf16 take
/// half a line, so two tiles' share one (codegen/attention/Softmax.h).
void WeightedValues::whole(HeadRange range) {
  const Gpr cursor = a.takeGeneral("value cursor"), p = a.takeGeneral("frame, some tiles on");
  const Gpr tile = a.takeGeneral("tile's line"), toNext = a.takeGeneral("to the next block");
  const OuterProduct product(a, lanes, context.spec);
  const bool fetch = range.first == 0;
  if (fetch)
    emitDistanceToNext(context, toNext);
  const unsigned turnTiles = context.dotInstruction() ? std::min(2u, context.shape.tiles) : 1;
  const auto oneTile = [&](Lines lines, const HeadSums &acc, unsigned inTurn) {
    scaleByAlpha(range, acc, context.frame + tile + (context.layout.alpha + inTurn * lineBytes));
    for (unsigned key = 0; key < tileKeys; key += context.together()) {
      const unsigned at = inTurn * context.tileBytes() + key * context.valueRowBytes();
      addValue(product, range, acc, lines, cursor + at,
               p + (context.layout.scores + (inTurn * tileKeys + key) * context.scalarBytes()),
               std::nullopt);
      for (unsigned line = 0; fetch && line < lines.count; ++line)
        a.prefetcht1(a.ptr[cursor + toNext + (at + line * lineBytes)]);
    }
  };
  forEachPass([&](Lines lines, const Gpr &d) {
    a.lea(cursor, a.ptr[context.values + d * 4]);
    a.mov(p, context.frame);
    accumulate(range, lines, d, [&](const HeadSums &acc) {
      a.loopBelow(tile, context.shape.tiles * lineBytes, turnTiles * lineBytes, [&] {
        for (unsigned inTurn = 0; inTurn < turnTiles; ++inTurn)
          oneTile(lines, acc, inTurn);
        a.add(cursor, turnTiles * context.tileBytes());
        a.add(p, turnTiles * context.layout.scoreTileBytes);
      });
    });
  });
}

void WeightedValues::partial(HeadRange range) {
  const Gpr lane = a.takeGeneral("lane"), cursor = a.takeGeneral("value cursor");
  const Gpr mask = a.takeGeneral("mask of the pair");
  const OuterProduct product(a, lanes, context.spec);
  forEachPass([&](Lines lines, const Gpr &d) {
    const auto toFirst = [&] {
      a.mov(lane, a.qword[context.frame + context.layout.firstLane]);
      a.and_(lane, -static_cast<int>(context.together()));
    };
    toFirst();
    a.imul(cursor, lane, static_cast<int>(context.valueRowBytes()));
    a.add(cursor, context.values);
    a.lea(cursor, a.ptr[cursor + d * 4]);
    accumulate(range, lines, d, [&](const HeadSums &acc) {
      Xbyak::Label top;
      scaleByAlpha(range, acc, context.frame + context.layout.alpha);
      a.L(top);
      std::optional<Address> clears;
      if (context.bf16Cache()) {
        emitPointAtPairMask(context, mask, lane);
        clears = Address(mask);
      }
      addValue(product, range, acc, lines, Address(cursor),
               context.frame + lane * static_cast<int>(context.scalarBytes()) +
                   context.layout.scores,
               clears);
      a.add(cursor, context.together() * context.valueRowBytes());
      a.add(lane, context.together());
      a.cmp(lane, a.qword[context.frame + context.layout.lastLane]);
      a.jle(top);
    });
  });
}

} // namespace inf
