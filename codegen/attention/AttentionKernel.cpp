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
// On AMX tiles (TileProducts.h) keys go in groups of 32 with one m', in an order with bits of its
// own: whole steps, whole groups, then partial groups, whose values in range are copied between
// zeros. StepFetch.h says what is fetched there.
//
// A head of 24, 40, ... dimensions ends in half a line: eight dimensions, read and written alone,
// since another head's lie behind them.
//
// While a step computes, the same step of the next block is fetched, a line for each that is read:
// a head's keys in a block are a few KB, too short a stream for the hardware to get ahead of. The
// last block's next is where the thread goes after this call.
#include "codegen/Generators.h"
#include "codegen/Mxcsr.h"
#include "codegen/attention/AttentionContext.h"
#include "codegen/attention/Chunks.h"
#include "codegen/attention/NextBlock.h"
#include "codegen/attention/RoundQuery.h"
#include "codegen/attention/Scores.h"
#include "codegen/attention/Softmax.h"
#include "codegen/attention/TileProducts.h"
#include "codegen/attention/WeightedValues.h"

namespace inf {
namespace {

unsigned log2Of(unsigned powerOfTwo) { return static_cast<unsigned>(__builtin_ctz(powerOfTwo)); }

class AttentionGenerator : AttentionContext {
public:
  using AttentionContext::AttentionContext;
  KernelCode generate();

private:
  void start();
  void findFirstTile();
  void stepLoop();
  void locateTile();
  void jumpUnlessWhole(unsigned tiles, const Xbyak::Label &partial);
  void wholeStep(unsigned tiles);
  void partialTiles();
  Softmax::Beside besideSoftmax(StepFetch &fetch);
  std::vector<LaneMask> lanesOutside();
  void findLanes(const Gpr &firstLane, const Gpr &lastLane);
  void advance(unsigned tiles);

  Scores scores{*this};
  Softmax softmax{*this};
  WeightedValues weightedValues{*this};
  TileProducts tileProducts{*this};
  Chunks chunks{*this, softmax};
};

KernelCode AttentionGenerator::generate() {
  Xbyak::Label nextChunk, partial, fromPartials, finish, end;
  start();
  a.cmp(arg(offsetof(AttentionArgs, partialCount)), 0);
  a.jne(fromPartials);
  if (bf16Dots())
    emitRoundQuery(*this);
  if (onTiles())
    tileProducts.configure();
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
  if (onTiles())
    a.tilerelease();
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

/// position = firstKey rounded down to a tile, or a group of them;  table and inBlock follow from
/// it.
void AttentionGenerator::findFirstTile() {
  a.mov(position, arg(offsetof(AttentionArgs, firstKey)));
  a.and_(position, -static_cast<int>(groupTiles() * tileKeys));
  a.mov(table, position);
  a.shr(table, static_cast<int>(log2Of(spec.blockTokens)));
  a.shl(table, 2);
  a.add(table, arg(offsetof(AttentionArgs, blockTable)));
  a.mov(inBlock, position);
  a.and_(inBlock, spec.blockTokens - 1);
  a.imul(inBlock, inBlock, static_cast<int>(valueRowBytes()));
}

void AttentionGenerator::stepLoop() {
  Xbyak::Label top, next;
  a.L(top);
  locateTile();
  std::vector<unsigned> whole = {shape.tiles};
  if (groupTiles() != 1 && groupTiles() < shape.tiles) // a group that is whole needs no copy
    whole.push_back(groupTiles());
  for (unsigned tiles : whole) {
    Xbyak::Label fewer;
    jumpUnlessWhole(tiles, fewer);
    wholeStep(tiles);
    advance(tiles);
    a.jmp(next);
    a.L(fewer);
  }
  partialTiles();
  advance(groupTiles());
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
void AttentionGenerator::jumpUnlessWhole(unsigned tiles, const Xbyak::Label &partial) {
  const Gpr last = a.takeGeneral("last position of the step");
  const unsigned stepKeys = tiles * tileKeys;
  a.test(position.cvt32(), stepKeys - 1);
  a.jnz(partial);
  a.cmp(position, arg(offsetof(AttentionArgs, firstKey)));
  a.jl(partial);
  a.lea(last, a.ptr[position + (stepKeys - 1)]);
  a.cmp(last, arg(offsetof(AttentionArgs, lastKey)));
  a.jg(partial);
}

void AttentionGenerator::wholeStep(unsigned tiles) {
  emitReachTwoBlocksOn(*this);
  if (onTiles()) {
    StepFetch fetch(*this, tiles);
    tileProducts.scores(tiles, fetch);
    softmax.update(tiles, {}, besideSoftmax(fetch));
    return tileProducts.wholeValues(tiles, fetch);
  }
  for (HeadRange range : shape.heads)
    scores.emit(range, tiles);
  softmax.update(tiles, {}, {});
  for (HeadRange range : shape.heads)
    weightedValues.whole(range);
}

void AttentionGenerator::partialTiles() {
  if (onTiles()) {
    StepFetch fetch(*this, groupTiles());
    tileProducts.scores(groupTiles(), fetch);
    softmax.update(groupTiles(), lanesOutside(), besideSoftmax(fetch));
    return tileProducts.partialValues(fetch);
  }
  for (HeadRange range : shape.heads)
    scores.emit(range, 1);
  softmax.update(1, lanesOutside(), {});
  for (HeadRange range : shape.heads)
    weightedValues.partial(range);
}

Softmax::Beside AttentionGenerator::besideSoftmax(StepFetch &fetch) {
  return [&](unsigned head) { fetch.besideSoftmax(head, spec.group); };
}

/// Of each tile of the group.
std::vector<LaneMask> AttentionGenerator::lanesOutside() {
  const Gpr firstLane = a.takeGeneral("first lane"), lastLane = a.takeGeneral("last lane");
  findLanes(firstLane, lastLane);
  std::vector<LaneMask> outside;
  outside.push_back(lanes->outside(firstLane, lastLane));
  while (outside.size() < groupTiles()) {
    a.sub(firstLane, tileKeys);
    a.sub(lastLane, tileKeys);
    outside.push_back(lanes->outside(firstLane, lastLane));
  }
  return outside;
}

/// The lanes of a partial tile, or group of tiles, that are in range, into the frame too.
void AttentionGenerator::findLanes(const Gpr &firstLane, const Gpr &lastLane) {
  Xbyak::Label startsInside, endsInside;
  a.mov(firstLane, arg(offsetof(AttentionArgs, firstKey)));
  a.sub(firstLane, position);
  a.jge(startsInside);
  a.xor_(firstLane, firstLane);
  a.L(startsInside);
  a.mov(lastLane, arg(offsetof(AttentionArgs, lastKey)));
  a.sub(lastLane, position);
  a.cmp(lastLane, groupTiles() * tileKeys - 1);
  a.jle(endsInside);
  a.mov(lastLane, groupTiles() * tileKeys - 1);
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

} // namespace

KernelCode generateAttention(const KernelSpec &spec) { return AttentionGenerator(spec).generate(); }

} // namespace inf
