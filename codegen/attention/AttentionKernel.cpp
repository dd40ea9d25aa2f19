// Attention of the query heads that share a kv head (codegen/KernelArgs.h, AttentionArgs).
//
//   position   0        16        32        48        64      tiles of 16 keys on the absolute grid
//              |  ####   |  tile   |  tile   |  ###    |       #: firstKey .. lastKey
//               partial   whole step of 2     partial
//   for each step, ascending:
//     scores    z[h][16 keys] = (sum over d, ascending, of K[d][16 keys] * q[h][d]) * scale
//     softmax   per head: m' = max(m, max z);  p = exp(z - m');  alpha = exp(m - m')
//               16 sums = sums * alpha + p  (one FMA)
//     values    per 16 dimensions: acc = acc * alpha;  acc += p[h][key] * V[key][16 dims],
//     ascending
//   at the end of a chunk of 1024 keys: join with the chunks before it (Chunks.h);  out = A * r
//
// A bf16 cache has two dimensions of a key, and two keys of a dimension, side by side in a dword:
// the products go over pairs. With bf16 dots q and p are rounded to bf16 and the kernel takes
// denormals for zero from its start to its end, as vdpbf16ps does whatever MXCSR says; kernels
// without that instruction so get the same bits from FMAs.
//
// A whole step is 1, 2 or 4 full tiles of one block: each line of the cache is then read once
// for all heads (of a sub-group), each scalar broadcast once for all tiles, and the accumulators
// are loaded and stored once. What is left, at a window's start and at the newest keys, goes tile
// by tile through a second body, which turns lanes outside the range into z = -inf, so p = 0, and
// never touches their values but for the other half of a pair, which it clears. Stale keys and
// values may thus hold anything, NaN included.
//
// A head of 24, 40, ... dimensions ends in half a line: eight dimensions, read and written alone,
// since another head's lie behind them.
//
// While a step computes, the same step of the next block is fetched, a line for each that is read:
// a head's keys in a block are a few KB, too short a stream for the hardware to get ahead of. The
// last block's next is where the thread goes after this call.
#include <algorithm>
#include <optional>

#include "codegen/Generators.h"
#include "codegen/Mxcsr.h"
#include "codegen/attention/AttentionContext.h"
#include "codegen/attention/Chunks.h"
#include "codegen/attention/HeadFold.h"
#include "codegen/attention/OuterProduct.h"
#include "codegen/attention/RoundQuery.h"
#include "codegen/attention/Softmax.h"

namespace inf {
namespace {

unsigned log2Of(unsigned powerOfTwo) { return static_cast<unsigned>(__builtin_ctz(powerOfTwo)); }

/// Lines of sixteen dimensions of a value; the last may be the half one.
struct Lines {
  unsigned count;
  bool halfLast = false;
  bool isHalf(unsigned line) const { return halfLast && line + 1 == count; }
};

class AttentionGenerator : AttentionContext {
public:
  using AttentionContext::AttentionContext;
  static constexpr unsigned scoreStep = 8; ///< dimensions in a turn of the loop over them

  KernelCode generate();

private:
  void start();
  void findFirstTile();
  void stepLoop();
  void locateTile();
  void jumpUnlessWhole(const Xbyak::Label &partial);
  void wholeStep();
  void partialTile();
  void findLanes(const Gpr &firstLane, const Gpr &lastLane);
  void advance(unsigned tiles);

  void scores(HeadRange range, unsigned tiles, bool fetch);
  void findNextBlock(const Gpr &toNext);
  void fetchKeys(const Gpr &cursor, const Gpr &toNext, unsigned tiles);

  template <typename Body> void forEachPass(Body body);
  void accumulate(HeadRange range, Lines lines, const Gpr &d, const auto &body);
  void scaleByAlpha(HeadRange range, const HeadSums &acc, const Address &alphaLine);
  void addValue(const OuterProduct &product, HeadRange range, const HeadSums &acc, Lines lines,
                const Address &value, const Address &p, std::optional<Address> mask);
  void wholeValues(HeadRange range);
  void partialValues(HeadRange range);
  void pointAtMask(const Gpr &mask, const Gpr &lane);

  Softmax softmax{*this};
  Chunks chunks{*this, softmax};
};

KernelCode AttentionGenerator::generate() {
  Xbyak::Label nextChunk, partial, fromPartials, finish, end;
  start();
  a.cmp(arg(offsetof(AttentionArgs, partialCount)), 0);
  a.jne(fromPartials);
  if (bf16Dots())
    emitRoundQuery(*this);
  findFirstTile();
  a.L(nextChunk);
  chunks.startChunk();
  stepLoop();
  softmax.foldSums();
  a.cmp(arg(offsetof(AttentionArgs, partials)), 0);
  a.jne(partial);
  chunks.join();
  chunks.jumpIfKeysAreLeft(nextChunk);
  a.L(finish);
  chunks.finish();
  a.jmp(end);
  a.L(fromPartials);
  chunks.joinPartials();
  a.jmp(finish);
  a.L(partial);
  chunks.storePartial();
  a.L(end);
  if (bf16Dots())
    setMxcsr(a, stepMxcsr);
  return a.finish(kernelSymbol(spec));
}

void AttentionGenerator::start() {
  a.lea(frame, a.ptr[a.rsp + alignmentSlack]);
  a.and_(frame, -64);
  a.mov(q, arg(offsetof(AttentionArgs, q)));
  if (bf16Dots())
    setMxcsr(a, stepMxcsr | zeroDenormals);
  chunks.start();
}

/// position = firstKey rounded down to a tile;  table and inBlock follow from it.
void AttentionGenerator::findFirstTile() {
  a.mov(position, arg(offsetof(AttentionArgs, firstKey)));
  a.and_(position, -static_cast<int>(tileKeys));
  a.mov(table, position);
  a.shr(table, static_cast<int>(log2Of(spec.blockTokens)));
  a.shl(table, 2);
  a.add(table, arg(offsetof(AttentionArgs, blockTable)));
  a.mov(inBlock, position);
  a.and_(inBlock, spec.blockTokens - 1);
  a.imul(inBlock, inBlock, static_cast<int>(valueRowBytes()));
}

void AttentionGenerator::stepLoop() {
  Xbyak::Label top, partial, next;
  a.L(top);
  locateTile();
  jumpUnlessWhole(partial);
  wholeStep();
  advance(shape.tiles);
  a.jmp(next);
  a.L(partial);
  partialTile();
  advance(1);
  a.L(next);
  a.cmp(position, a.qword[frame + layout.chunkLast]);
  a.jle(top);
}

/// Keys and values of one tile have the same size, so one offset serves both.
void AttentionGenerator::locateTile() {
  a.movsxd(keys, a.dword[table]);
  a.imul(keys, arg(offsetof(AttentionArgs, blockBytes)));
  a.add(keys, arg(offsetof(AttentionArgs, kvBase)));
  a.add(keys, inBlock);
  a.mov(values, keys);
  a.add(keys, arg(offsetof(AttentionArgs, keyOffset)));
  a.add(values, arg(offsetof(AttentionArgs, valueOffset)));
}

/// A whole step begins on its own grid, so it lies in one block.
void AttentionGenerator::jumpUnlessWhole(const Xbyak::Label &partial) {
  const Gpr last = a.takeGeneral("last position of the step");
  const unsigned stepKeys = shape.tiles * tileKeys;
  a.test(position.cvt32(), stepKeys - 1);
  a.jnz(partial);
  a.cmp(position, arg(offsetof(AttentionArgs, firstKey)));
  a.jl(partial);
  a.lea(last, a.ptr[position + (stepKeys - 1)]);
  a.cmp(last, arg(offsetof(AttentionArgs, lastKey)));
  a.jg(partial);
}

void AttentionGenerator::wholeStep() {
  for (HeadRange range : shape.heads)
    scores(range, shape.tiles, range.first == 0);
  softmax.update(shape.tiles, nullptr);
  for (HeadRange range : shape.heads)
    wholeValues(range);
}

void AttentionGenerator::partialTile() {
  for (HeadRange range : shape.heads)
    scores(range, 1, range.first == 0);
  {
    const Gpr firstLane = a.takeGeneral("first lane"), lastLane = a.takeGeneral("last lane");
    findLanes(firstLane, lastLane);
    const LaneMask outside = lanes->outside(firstLane, lastLane);
    softmax.update(1, &outside);
  }
  for (HeadRange range : shape.heads)
    partialValues(range);
}

/// The lanes of a partial tile that are in range, into the frame too.
void AttentionGenerator::findLanes(const Gpr &firstLane, const Gpr &lastLane) {
  Xbyak::Label startsInside, endsInside;
  a.mov(firstLane, arg(offsetof(AttentionArgs, firstKey)));
  a.sub(firstLane, position);
  a.jge(startsInside);
  a.xor_(firstLane, firstLane);
  a.L(startsInside);
  a.mov(lastLane, arg(offsetof(AttentionArgs, lastKey)));
  a.sub(lastLane, position);
  a.cmp(lastLane, tileKeys - 1);
  a.jle(endsInside);
  a.mov(lastLane, tileKeys - 1);
  a.L(endsInside);
  a.mov(a.qword[frame + layout.firstLane], firstLane);
  a.mov(a.qword[frame + layout.lastLane], lastLane);
}

void AttentionGenerator::advance(unsigned tiles) {
  Xbyak::Label sameBlock;
  a.add(position, tiles * tileKeys);
  a.add(inBlock, tiles * tileBytes());
  a.cmp(inBlock, spec.blockTokens / tileKeys * tileBytes());
  a.jl(sameBlock);
  a.xor_(inBlock, inBlock);
  a.add(table, 4);
  a.L(sameBlock);
}

/// toNext = bytes from this block to the next, or to AttentionArgs::next; 0 where neither is.
void AttentionGenerator::findNextBlock(const Gpr &toNext) {
  Xbyak::Label last, done;
  const Gpr current = a.takeGeneral("this block");
  a.movsxd(current, a.dword[table]);
  a.mov(toNext, position);
  a.or_(toNext, spec.blockTokens - 1);
  a.cmp(toNext, arg(offsetof(AttentionArgs, lastKey)));
  a.jge(last);
  a.movsxd(toNext, a.dword[table + 4]);
  a.sub(toNext, current);
  a.imul(toNext, arg(offsetof(AttentionArgs, blockBytes)));
  a.jmp(done);
  a.L(last);
  a.mov(toNext, arg(offsetof(AttentionArgs, next)));
  a.test(toNext, toNext);
  a.jz(done);
  a.imul(current, arg(offsetof(AttentionArgs, blockBytes)));
  a.add(current, arg(offsetof(AttentionArgs, kvBase)));
  a.add(current, arg(offsetof(AttentionArgs, keyOffset)));
  a.sub(toNext, current);
  a.L(done);
}

/// The lines of the next block for those that `cursor` goes through in one turn of scores().
void AttentionGenerator::fetchKeys(const Gpr &cursor, const Gpr &toNext, unsigned tiles) {
  const unsigned bytes = scoreStep * tileKeys * elementBytes;
  for (unsigned tile = 0; tile < tiles; ++tile)
    for (unsigned byte = 0; byte < bytes; byte += lineBytes)
      a.prefetcht1(a.ptr[cursor + toNext + (tile * tileBytes() + byte)]);
}

/// z[h][16 keys] of each tile into the frame. Eight dimensions a turn: head_dim is a multiple of 8.
void AttentionGenerator::scores(HeadRange range, unsigned tiles, bool fetch) {
  const Gpr d = a.takeGeneral("dimension"), cursor = a.takeGeneral("key cursor");
  const Gpr toNext = a.takeGeneral("to the next block");
  const OuterProduct product(a, *lanes, spec);
  const HeadSums z = takeHeadSums(*lanes, tiles, range.count);
  for (const std::vector<Lanes16> &tile : z)
    for (const Lanes16 &score : tile)
      lanes->setZero(score);
  if (fetch)
    findNextBlock(toNext);
  a.mov(cursor, keys);
  a.loopBelow(d, spec.headDim, scoreStep, [&] {
    for (unsigned i = 0; i < scoreStep; i += together()) {
      std::vector<CacheLine> lines;
      std::vector<Address> scalars;
      for (unsigned tile = 0; tile < tiles; ++tile)
        lines.push_back({cursor + (tile * tileBytes() + i * tileKeys * elementBytes), false, {}});
      for (unsigned h = 0; h < range.count; ++h)
        scalars.push_back(q + d * static_cast<int>(scalarBytes()) +
                          ((range.first + h) * queryHeadBytes() + i * scalarBytes()));
      product.emit(z, lines, scalars);
    }
    if (fetch)
      fetchKeys(cursor, toNext, tiles);
    a.add(cursor, scoreStep * tileKeys * elementBytes);
  });
  for (unsigned tile = 0; tile < tiles; ++tile)
    for (unsigned h = 0; h < range.count; ++h) {
      lanes->multiplyBroadcast(z[tile][h], args + offsetof(AttentionArgs, scale));
      lanes->store(
          frame + (layout.scores + tile * layout.scoreTileBytes + (range.first + h) * lineBytes),
          z[tile][h]);
    }
}

/// body(lines, d) for all dimensions, those of `lines` from d on. The rest comes last: what the
/// whole passes leave over, and half a line.
template <typename Body> void AttentionGenerator::forEachPass(Body body) {
  const Gpr d = a.takeGeneral("first dimension");
  const unsigned passDims = shape.valueLines * 16, rest = spec.headDim % passDims;
  a.loopBelow(d, spec.headDim - rest, passDims, [&] { body(Lines{shape.valueLines}, d); });
  if (rest != 0) // d is where the loop ended
    body(Lines{(rest + 15) / 16, shape.halfLine}, d);
}

/// Loads the accumulators of the sub-group and of the lines from d on, body(acc), stores them.
void AttentionGenerator::accumulate(HeadRange range, Lines lines, const Gpr &d, const auto &body) {
  const HeadSums acc = takeHeadSums(*lanes, lines.count, range.count);
  const auto at = [&](unsigned line, unsigned h) {
    return out + d * floatBytes + ((range.first + h) * headBytes() + line * lineBytes);
  };
  for (unsigned line = 0; line < lines.count; ++line)
    for (unsigned h = 0; h < range.count; ++h)
      lines.isHalf(line) ? lanes->loadHalf(acc[line][h], at(line, h))
                         : lanes->load(acc[line][h], at(line, h));
  body(acc);
  for (unsigned line = 0; line < lines.count; ++line)
    for (unsigned h = 0; h < range.count; ++h)
      lines.isHalf(line) ? lanes->storeHalf(at(line, h), acc[line][h])
                         : lanes->store(at(line, h), acc[line][h]);
}

void AttentionGenerator::scaleByAlpha(HeadRange range, const HeadSums &acc,
                                      const Address &alphaLine) {
  Xbyak::Label unchanged;
  a.cmp(a.dword[frame + layout.changed], 0);
  a.je(unchanged);
  for (unsigned h = 0; h < range.count; ++h) {
    const VectorRegister alpha = lanes->takeRegister("alpha");
    a.vbroadcastss(alpha, a.dword[alphaLine + laneOfHead(range.first + h) * floatBytes]);
    for (const std::vector<Lanes16> &line : acc)
      for (const VectorRegister &part : line[h].parts)
        a.vmulps(part, part, alpha);
  }
  a.L(unchanged);
}

/// acc[line][h] += V[line] * p[h]; `p` is head 0's.
void AttentionGenerator::addValue(const OuterProduct &product, HeadRange range, const HeadSums &acc,
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
void AttentionGenerator::wholeValues(HeadRange range) {
  const Gpr cursor = a.takeGeneral("value cursor"), p = a.takeGeneral("frame, some tiles on");
  const Gpr tile = a.takeGeneral("tile's line"), toNext = a.takeGeneral("to the next block");
  const OuterProduct product(a, *lanes, spec);
  const bool fetch = range.first == 0;
  if (fetch)
    findNextBlock(toNext);
  const unsigned turnTiles = dotInstruction() ? std::min(2u, shape.tiles) : 1;
  const auto oneTile = [&](Lines lines, const HeadSums &acc, unsigned inTurn) {
    scaleByAlpha(range, acc, frame + tile + (layout.alpha + inTurn * lineBytes));
    for (unsigned key = 0; key < tileKeys; key += together()) {
      const unsigned at = inTurn * tileBytes() + key * valueRowBytes();
      addValue(product, range, acc, lines, cursor + at,
               p + (layout.scores + (inTurn * tileKeys + key) * scalarBytes()), std::nullopt);
      for (unsigned line = 0; fetch && line < lines.count; ++line)
        a.prefetcht1(a.ptr[cursor + toNext + (at + line * lineBytes)]);
    }
  };
  forEachPass([&](Lines lines, const Gpr &d) {
    a.lea(cursor, a.ptr[values + d * 4]);
    a.mov(p, frame);
    accumulate(range, lines, d, [&](const HeadSums &acc) {
      a.loopBelow(tile, shape.tiles * lineBytes, turnTiles * lineBytes, [&] {
        for (unsigned inTurn = 0; inTurn < turnTiles; ++inTurn)
          oneTile(lines, acc, inTurn);
        a.add(cursor, turnTiles * tileBytes());
        a.add(p, turnTiles * layout.scoreTileBytes);
      });
    });
  });
}

void AttentionGenerator::partialValues(HeadRange range) {
  const Gpr lane = a.takeGeneral("lane"), cursor = a.takeGeneral("value cursor");
  const Gpr mask = a.takeGeneral("mask of the pair");
  const OuterProduct product(a, *lanes, spec);
  forEachPass([&](Lines lines, const Gpr &d) {
    const auto toFirst = [&] {
      a.mov(lane, a.qword[frame + layout.firstLane]);
      a.and_(lane, -static_cast<int>(together()));
    };
    toFirst();
    a.imul(cursor, lane, static_cast<int>(valueRowBytes()));
    a.add(cursor, values);
    a.lea(cursor, a.ptr[cursor + d * 4]);
    accumulate(range, lines, d, [&](const HeadSums &acc) {
      Xbyak::Label top;
      scaleByAlpha(range, acc, frame + layout.alpha);
      a.L(top);
      std::optional<Address> clears;
      if (bf16Cache()) {
        pointAtMask(mask, lane);
        clears = Address(mask);
      }
      addValue(product, range, acc, lines, Address(cursor),
               frame + lane * static_cast<int>(scalarBytes()) + layout.scores, clears);
      a.add(cursor, together() * valueRowBytes());
      a.add(lane, together());
      a.cmp(lane, a.qword[frame + layout.lastLane]);
      a.jle(top);
    });
  });
}

/// Where a line lies that clears the key of the pair (lane, lane + 1) that is out of range, if any.
void AttentionGenerator::pointAtMask(const Gpr &mask, const Gpr &lane) {
  std::vector<uint32_t> masks;
  for (uint32_t kept : {0xFFFFFFFFu, 0xFFFF0000u, 0x0000FFFFu}) // both, the odd one, the even one
    masks.insert(masks.end(), lineBytes / sizeof kept, kept);
  Xbyak::Label firstInside, lastInside;
  a.lea(mask, a.ptr[a.rip + a.constant(masks)]);
  a.cmp(lane, a.qword[frame + layout.firstLane]);
  a.jge(firstInside);
  a.add(mask, lineBytes);
  a.L(firstInside);
  a.cmp(lane, a.qword[frame + layout.lastLane]);
  a.jne(lastInside);
  a.add(mask, 2 * lineBytes);
  a.L(lastInside);
}

} // namespace

KernelCode generateAttention(const KernelSpec &spec) { return AttentionGenerator(spec).generate(); }

} // namespace inf
