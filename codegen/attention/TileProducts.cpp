#include "codegen/attention/TileProducts.h"

#include "codegen/TileConfiguration.h"
#include "codegen/attention/HeadFold.h"
#include "codegen/attention/PairMask.h"

namespace inf {
namespace {

// Four tiles of sums, then two of heads and two of keys or values: each is loaded while the other
// is multiplied with.
constexpr unsigned sumTiles = 4, tileRows = 16;
constexpr unsigned dotDimensions = 32; ///< of a score's product
constexpr unsigned keyTileBytes = dotDimensions * AttentionContext::tileKeys * 2;

Xbyak::Tmm sums(unsigned i) { return Xbyak::Tmm(static_cast<int>(i)); }
Xbyak::Tmm ofHeads(unsigned turn) { return Xbyak::Tmm(static_cast<int>(sumTiles + turn % 2)); }
Xbyak::Tmm ofCache(unsigned turn) { return Xbyak::Tmm(static_cast<int>(sumTiles + 2 + turn % 2)); }

} // namespace

void TileProducts::configure() {
  TileConfiguration tiles;
  for (size_t tile = 0; tile < 8; ++tile)
    tiles.setTile(tile, tile < sumTiles + 2 ? context.spec.group : tileRows, lineBytes);
  a.ldtilecfg(a.ptr[a.rip + a.constant(tiles.words())]);
}

/// As few as four tiles of sums allow, near equal.
std::vector<TileProducts::Pass> TileProducts::passes() const {
  const unsigned lines = context.spec.headDim / 16, count = (lines + sumTiles - 1) / sumTiles;
  std::vector<Pass> passes;
  for (unsigned pass = 0; pass < count; ++pass) {
    const unsigned first = lines * pass / count, end = lines * (pass + 1) / count;
    passes.push_back({first * 16, end - first});
  }
  return passes;
}

TileProducts::Strides TileProducts::takeStrides() {
  Strides strides{a.takeGeneral("bytes of a row of acc"), a.takeGeneral("bytes of a line")};
  a.mov(strides.ofDimensions, context.headBytes());
  a.mov(strides.ofLines, lineBytes);
  return strides;
}

void TileProducts::scores(unsigned tiles, StepFetch &fetch) {
  fetch.begin();
  const Gpr ofQuery = a.takeGeneral("bytes of a head of q");
  const Strides strides = takeStrides();
  a.mov(ofQuery, context.queryHeadBytes());
  for (unsigned tile = 0; tile < tiles; ++tile)
    a.tilezero(sums(tile));
  const unsigned turns = context.spec.headDim / dotDimensions;
  for (unsigned turn = 0; turn < turns; ++turn) {
    a.tileloadd(ofHeads(turn), a.ptr[context.q + ofQuery + turn * lineBytes]);
    for (unsigned tile = 0; tile < tiles; ++tile) {
      const unsigned at = tile * context.tileBytes() + turn * keyTileBytes;
      a.tileloadd(ofCache(tile), a.ptr[context.keys + strides.ofLines + at]);
      a.tdpbf16ps(sums(tile), ofHeads(turn), ofCache(tile));
      fetch.besideScores(turn * tiles + tile, turns * tiles);
    }
  }
  for (unsigned tile = 0; tile < tiles; ++tile)
    a.tilestored(a.ptr[context.frame + strides.ofLines +
                       (context.layout.scores + tile * context.layout.scoreTileBytes)],
                 sums(tile));
  scale(tiles);
}

void TileProducts::scale(unsigned tiles) {
  const Lanes16 factor = lanes.take("scale"), z = lanes.take("z");
  lanes.broadcast(factor, context.args + offsetof(AttentionArgs, scale));
  for (unsigned tile = 0; tile < tiles; ++tile)
    for (unsigned head = 0; head < context.spec.group; ++head) {
      const Address at = context.frame + (context.layout.scores +
                                          tile * context.layout.scoreTileBytes + head * lineBytes);
      lanes.load(z, at);
      lanes.multiply(z, z, factor);
      lanes.store(at, z);
    }
}

void TileProducts::wholeValues(unsigned tiles, StepFetch &fetch) {
  const unsigned groups = tiles / context.groupTiles();
  const std::vector<Pass> all = passes();
  const Strides strides = takeStrides();
  for (size_t pass = 0; pass < all.size(); ++pass) {
    for (unsigned group = 0; group < groups; ++group) {
      bringSums(all[pass], group, strides);
      multiply(all[pass], group, strides, context.values + group * groupBytes());
      fetch.besideValues(static_cast<unsigned>(pass) * groups + group,
                         static_cast<unsigned>(all.size()) * groups);
    }
    storeSums(all[pass], strides);
  }
}

/// A tile reads all keys of its group, so those in range are copied, between zeros.
void TileProducts::partialValues(StepFetch &fetch) {
  copyValues();
  fetch.besideValues(0, 1);
  const Strides strides = takeStrides();
  for (Pass pass : passes()) {
    bringSums(pass, 0, strides);
    multiply(pass, 0, strides, context.frame + context.layout.groupValues);
    storeSums(pass, strides);
  }
}

void TileProducts::multiply(Pass pass, unsigned group, const Strides &strides,
                            const Address &values) {
  a.tileloadd(ofHeads(group), a.ptr[context.frame + strides.ofLines +
                                    (context.layout.scores + group * context.groupTiles() *
                                                                 context.layout.scoreTileBytes)]);
  for (unsigned line = 0; line < pass.lines; ++line) {
    a.tileloadd(ofCache(line),
                a.ptr[values + strides.ofDimensions + (pass.first * 4 + line * lineBytes)]);
    a.tdpbf16ps(sums(line), ofHeads(group), ofCache(line));
  }
}

/// Scaled where an alpha is not 1, in memory, where the first group's are anyway.
void TileProducts::bringSums(Pass pass, unsigned group, const Strides &strides) {
  constexpr uint8_t notEqual = 4; // true for NaN
  const unsigned alphas = context.layout.alpha + group * context.groupTiles() * lineBytes;
  Xbyak::Label unchanged;
  a.cmp(a.dword[context.frame + context.layout.changed], 0);
  a.je(unchanged, Xbyak::CodeGenerator::T_NEAR);
  {
    const Lanes16 alpha = lanes.take("alphas"), one = lanes.take("1");
    const RegisterPool::Lease lease = a.registers().take(RegisterFile::Mask, "alphas but 1");
    const Xbyak::Opmask others(lease.index());
    lanes.load(alpha, context.frame + alphas);
    lanes.setConstant(one, 1.0f);
    a.vcmpps(others, alpha.parts[0], one.parts[0], notEqual);
    a.kortestw(others, others);
    a.jz(unchanged, Xbyak::CodeGenerator::T_NEAR);
  }
  if (group != 0)
    storeSums(pass, strides);
  const Lanes16 alpha = lanes.take("alpha"), acc = lanes.take("acc");
  for (unsigned head = 0; head < context.spec.group; ++head) {
    lanes.broadcast(alpha,
                    context.frame + (alphas + laneOfHead(head) * AttentionContext::floatBytes));
    for (unsigned line = 0; line < pass.lines; ++line) {
      lanes.load(acc, accAt(pass, line, head));
      lanes.multiply(acc, acc, alpha);
      lanes.store(accAt(pass, line, head), acc);
    }
  }
  if (group != 0) {
    loadSums(pass, strides);
    a.L(unchanged);
  } else {
    a.L(unchanged);
    loadSums(pass, strides);
  }
}

void TileProducts::loadSums(Pass pass, const Strides &strides) {
  for (unsigned line = 0; line < pass.lines; ++line)
    a.tileloadd(sums(line), a.ptr[accAt(pass, line, 0) + strides.ofDimensions]);
}

void TileProducts::storeSums(Pass pass, const Strides &strides) {
  for (unsigned line = 0; line < pass.lines; ++line)
    a.tilestored(a.ptr[accAt(pass, line, 0) + strides.ofDimensions], sums(line));
}

void TileProducts::copyValues() {
  const Gpr lane = a.takeGeneral("lane"), from = a.takeGeneral("pair of values"),
            to = a.takeGeneral("its copy"), mask = a.takeGeneral("mask of the pair");
  const Lanes16 values = lanes.take("values");
  lanes.setZero(values);
  a.loopBelow(lane, groupBytes(), lineBytes,
              [&] { lanes.store(context.frame + lane + context.layout.groupValues, values); });
  a.mov(lane, a.qword[context.frame + context.layout.firstLane]);
  a.and_(lane, -static_cast<int>(context.together()));
  a.imul(from, lane, static_cast<int>(context.valueRowBytes()));
  a.lea(to, a.ptr[context.frame + from + context.layout.groupValues]);
  a.add(from, context.values);
  Xbyak::Label top;
  a.L(top);
  emitPointAtPairMask(context, mask, lane);
  for (unsigned byte = 0; byte < context.headBytes(); byte += lineBytes) {
    lanes.load(values, from + byte);
    a.vpandd(values.parts[0], values.parts[0], a.ptr_b[mask]);
    lanes.store(to + byte, values);
  }
  a.add(from, context.headBytes());
  a.add(to, context.headBytes());
  a.add(lane, context.together());
  a.cmp(lane, a.qword[context.frame + context.layout.lastLane]);
  a.jle(top, Xbyak::CodeGenerator::T_NEAR);
}

} // namespace inf
