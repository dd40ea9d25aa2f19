// Attention of the query heads that share a kv head (codegen/KernelArgs.h, AttentionArgs).
//
//   position   0        16        32        48        64      tiles of 16 keys on the absolute grid
//              |  tile  |  tile   |  ####   |  ####   |       #: firstKey .. lastKey
//                                    partial    full ...
//   for each tile, ascending:
//     scores    z[h][16 keys] = (sum over d, ascending, of K[d][16 keys] * q[h][d]) * scale
//     softmax   per head: m' = max(m, max z);  p = exp(z - m');  alpha = exp(m - m')
//               sum = sum * alpha + hsum(p)  (one FMA)
//     values    per 16 dimensions: acc = acc * alpha;  acc += p[h][key] * V[key][16 dims],
//     ascending
//   out = acc / sum;  out itself is the accumulator.
//
// A full tile runs a body without masks, unrolled over its keys; a partial one (a window's start,
// the newest tile) a second body, which turns lanes outside the range into z = -inf, so p = 0, and
// never touches their values. Stale keys and values may thus hold anything, NaN included.
//
// Frame, aligned to 64: z / p [group][16] floats, then m, sum, alpha [group] floats each.
//
// Vector registers, as Lanes16 (AVX-512: 32, AVX2: 8): scores and values take H accumulators + 1
// row of keys or values (+ half a one to broadcast on AVX2); heads are split into near-equal
// sub-groups of at most H = 16 (AVX-512: 17 of 32) or H = 6 (AVX2: 7.5 of 8).
// Softmax: z, m, m', exp's exponent, polynomial and mask, the lane mask: 7.
#include <cstddef>
#include <limits>

#include "codegen/ExpEmitter.h"
#include "codegen/Generators.h"
#include "codegen/KernelArgs.h"
#include "codegen/Lanes.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

constexpr unsigned tileKeys = 16;
constexpr unsigned floatBytes = 4;
constexpr unsigned lanesBytes = 16 * floatBytes;
constexpr float lowestMaximum = -1e30f; // finite, so that m - m' is never inf - inf

/// Where a head's state lies in the frame.
struct FrameLayout {
  unsigned scores = 0, maximum, sum, alpha, bytes;
  explicit FrameLayout(unsigned group)
      : maximum(group * lanesBytes), sum(maximum + group * floatBytes),
        alpha(sum + group * floatBytes), bytes(alpha + group * floatBytes) {}
};

/// Heads first .. first + count - 1, together in registers.
struct HeadRange {
  unsigned first, count;
};

std::vector<HeadRange> subGroups(const KernelSpec &spec) {
  const unsigned most = isWide(spec.isa) ? 16 : 6;
  const unsigned parts = (spec.group + most - 1) / most;
  std::vector<HeadRange> ranges;
  for (unsigned part = 0; part < parts; ++part) {
    const unsigned first = spec.group * part / parts, end = spec.group * (part + 1) / parts;
    ranges.push_back({first, end - first});
  }
  return ranges;
}

/// Room to align the frame by hand: rsp is only aligned to 16.
constexpr unsigned alignmentSlack = 63;
uint32_t localBytes(const KernelSpec &spec) {
  return (FrameLayout(spec.group).bytes + alignmentSlack + 15) / 16 * 16;
}

class AttentionGenerator {
public:
  explicit AttentionGenerator(const KernelSpec &kernelSpec)
      : spec(kernelSpec), layout(spec.group), heads(subGroups(spec)),
        elementBytes(static_cast<unsigned>(weightBytes(spec.kv, 1))),
        a(spec.isa, 5, localBytes(spec)), // 9 roles of the class, up to 5 in a tile: 14
        lanes(LanesEmitter::create(a)) {}

  KernelCode generate();

private:
  using Address = LanesEmitter::Address;

  void start();
  void startHeads();
  void clearOut();
  void findFirstTile();
  void tileLoop();
  void locateTile();
  void nextTile();
  void scores(HeadRange range);
  void dispatchTile();
  void softmax(const LaneMask *outside);
  void softmaxOfHead(const Address &z, const Gpr &head, const LaneMask *outside);
  void fullValues(HeadRange range);
  void partialValues(HeadRange range, const Gpr &firstLane, const Gpr &lastLane);
  template <typename Body> void forEachChunk(HeadRange range, Body accumulate);
  void addValue(const std::vector<Lanes16> &acc, HeadRange range, const Address &value,
                const Address &probability);
  void divideBySum();

  Xbyak::Address arg(size_t offset) { return a.qword[args + offset]; }
  unsigned tileBytes() const { return tileKeys * spec.headDim * elementBytes; }
  unsigned valueRowBytes() const { return spec.headDim * elementBytes; }
  unsigned headBytes() const { return spec.headDim * floatBytes; }

  const KernelSpec spec;
  const FrameLayout layout;
  const std::vector<HeadRange> heads;
  const unsigned elementBytes;
  KernelAssembler a;
  std::unique_ptr<LanesEmitter> lanes;

  Gpr args = a.takeArguments();
  Gpr q = a.takeGeneral("q");
  Gpr out = a.takeGeneral("out");
  Gpr frame = a.takeGeneral("aligned frame");
  Gpr position = a.takeGeneral("first position of the tile");
  Gpr table = a.takeGeneral("block table entry");
  Gpr inBlock = a.takeGeneral("tile's offset in its block");
  Gpr keys = a.takeGeneral("tile's keys");
  Gpr values = a.takeGeneral("tile's values");
};

KernelCode AttentionGenerator::generate() {
  start();
  startHeads();
  clearOut();
  findFirstTile();
  tileLoop();
  divideBySum();
  return a.finish(kernelSymbol(spec));
}

void AttentionGenerator::start() {
  a.lea(frame, a.ptr[a.rsp + alignmentSlack]);
  a.and_(frame, -64);
  a.mov(q, arg(offsetof(AttentionArgs, q)));
  a.mov(out, arg(offsetof(AttentionArgs, out)));
}

/// m = max(sink, -1e30), sum = exp(sink - m);  without sinks m = -1e30, sum = 0.
void AttentionGenerator::startHeads() {
  const Gpr head = a.takeGeneral("head"), sinks = a.takeGeneral("sinks");
  const Lanes16 maximum = lanes->take("m"), sum = lanes->take("sum");
  lanes->setConstant(maximum, lowestMaximum);
  lanes->setZero(sum);
  if (spec.sinks)
    a.mov(sinks, arg(offsetof(AttentionArgs, sinks)));
  a.loopBelow(head, spec.group * floatBytes, floatBytes, [&] {
    if (spec.sinks) {
      lanes->setConstant(maximum, lowestMaximum);
      lanes->broadcast(sum, sinks + head);
      lanes->max(maximum, maximum, sum); // a NaN sink stays NaN
      lanes->subtract(sum, sum, maximum);
      emitExp(*lanes, sum);
    }
    lanes->storeFirstLane(frame + head + layout.maximum, maximum);
    lanes->storeFirstLane(frame + head + layout.sum, sum);
  });
}

void AttentionGenerator::clearOut() {
  const Gpr offset = a.takeGeneral("offset");
  const Lanes16 zero = lanes->take("zero");
  lanes->setZero(zero);
  a.loopBelow(offset, spec.group * headBytes(), lanesBytes,
              [&] { lanes->store(out + offset, zero); });
}

static unsigned log2Of(unsigned powerOfTwo) {
  return static_cast<unsigned>(__builtin_ctz(powerOfTwo));
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

void AttentionGenerator::tileLoop() {
  Xbyak::Label top;
  a.L(top);
  locateTile();
  for (HeadRange range : heads)
    scores(range);
  dispatchTile();
  nextTile();
  a.cmp(position, arg(offsetof(AttentionArgs, lastKey)));
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

void AttentionGenerator::nextTile() {
  Xbyak::Label sameBlock;
  a.add(position, tileKeys);
  a.add(inBlock, tileBytes());
  a.cmp(inBlock, spec.blockTokens / tileKeys * tileBytes());
  a.jl(sameBlock);
  a.xor_(inBlock, inBlock);
  a.add(table, 4);
  a.L(sameBlock);
}

/// z[h][16 keys] into the frame. Four dimensions a step: head_dim is a multiple of 16.
void AttentionGenerator::scores(HeadRange range) {
  constexpr unsigned step = 4;
  const Gpr d = a.takeGeneral("dimension"), cursor = a.takeGeneral("key cursor");
  const std::vector<Lanes16> z = lanes->takeMany("score", range.count);
  for (const Lanes16 &score : z)
    lanes->setZero(score);
  a.mov(cursor, keys);
  a.loopBelow(d, spec.headDim, step, [&] {
    const Lanes16 key = lanes->take("keys of a dimension");
    for (unsigned i = 0; i < step; ++i) {
      lanes->loadElements(key, spec.kv, cursor + i * tileKeys * elementBytes);
      for (unsigned h = 0; h < range.count; ++h)
        lanes->fmaBroadcast(z[h], key,
                            q + d * floatBytes + (range.first + h) * headBytes() + i * floatBytes);
    }
    a.add(cursor, step * tileKeys * elementBytes);
  });
  for (unsigned h = 0; h < range.count; ++h) {
    lanes->multiplyBroadcast(z[h], args + offsetof(AttentionArgs, scale));
    lanes->store(frame + layout.scores + (range.first + h) * lanesBytes, z[h]);
  }
}

/// Full tiles go one way, partial ones the other.
void AttentionGenerator::dispatchTile() {
  const Gpr firstLane = a.takeGeneral("first lane"), lastLane = a.takeGeneral("last lane");
  Xbyak::Label partial, startsInside, endsInside, done;
  a.mov(firstLane, arg(offsetof(AttentionArgs, firstKey)));
  a.sub(firstLane, position);
  a.mov(lastLane, arg(offsetof(AttentionArgs, lastKey)));
  a.sub(lastLane, position);
  a.cmp(firstLane, 0);
  a.jg(partial);
  a.cmp(lastLane, tileKeys - 1);
  a.jl(partial);

  softmax(nullptr);
  for (HeadRange range : heads)
    fullValues(range);
  a.jmp(done);

  a.L(partial);
  a.cmp(firstLane, 0);
  a.jge(startsInside);
  a.xor_(firstLane, firstLane);
  a.L(startsInside);
  a.cmp(lastLane, tileKeys - 1);
  a.jle(endsInside);
  a.mov(lastLane, tileKeys - 1);
  a.L(endsInside);
  {
    const LaneMask outside = lanes->outside(firstLane, lastLane);
    softmax(&outside);
  }
  for (HeadRange range : heads)
    partialValues(range, firstLane, lastLane);
  a.L(done);
}

/// z -> p in the frame, m, sum and alpha updated, head by head.
void AttentionGenerator::softmax(const LaneMask *outside) {
  const Gpr head = a.takeGeneral("head"), z = a.takeGeneral("score cursor");
  a.lea(z, a.ptr[frame + layout.scores]);
  a.loopBelow(head, spec.group * floatBytes, floatBytes, [&] {
    softmaxOfHead(z, head, outside);
    a.add(z, lanesBytes);
  });
}

void AttentionGenerator::softmaxOfHead(const Address &zAddress, const Gpr &head,
                                       const LaneMask *outside) {
  const Lanes16 z = lanes->take("z"), maximum = lanes->take("m"), newMaximum = lanes->take("m'");
  lanes->load(z, zAddress);
  if (outside)
    lanes->replaceWhere(*outside, z, -std::numeric_limits<float>::infinity());
  lanes->copy(newMaximum, z);
  lanes->foldMax(newMaximum);
  lanes->broadcast(maximum, frame + head + layout.maximum);
  lanes->max(newMaximum, maximum, newMaximum);
  lanes->storeFirstLane(frame + head + layout.maximum, newMaximum);

  lanes->subtract(z, z, newMaximum);
  emitExp(*lanes, z);
  lanes->store(zAddress, z);
  lanes->subtract(maximum, maximum, newMaximum);
  emitExp(*lanes, maximum);
  lanes->storeFirstLane(frame + head + layout.alpha, maximum);

  lanes->foldAdd(z);
  lanes->fmaBroadcast(z, maximum, frame + head + layout.sum); // alpha * sum + hsum(p)
  lanes->storeFirstLane(frame + head + layout.sum, z);
}

/// For each 16 dimensions of the sub-group's accumulators: acc * alpha, accumulate, store.
template <typename Body> void AttentionGenerator::forEachChunk(HeadRange range, Body accumulate) {
  const Gpr d = a.takeGeneral("first dimension");
  a.loopBelow(d, spec.headDim, 16, [&] {
    const std::vector<Lanes16> acc = lanes->takeMany("accumulator", range.count);
    auto accAddress = [&](unsigned h) {
      return out + d * floatBytes + (range.first + h) * headBytes();
    };
    for (unsigned h = 0; h < range.count; ++h) {
      lanes->load(acc[h], accAddress(h));
      lanes->multiplyBroadcast(acc[h], frame + layout.alpha + (range.first + h) * floatBytes);
    }
    accumulate(acc, d);
    for (unsigned h = 0; h < range.count; ++h)
      lanes->store(accAddress(h), acc[h]);
  });
}

/// acc[h] += p[h] * V; `probability` is head 0's.
void AttentionGenerator::addValue(const std::vector<Lanes16> &acc, HeadRange range,
                                  const Address &valueAddress, const Address &probability) {
  const Lanes16 value = lanes->take("values of a key");
  lanes->loadElements(value, spec.kv, valueAddress);
  for (unsigned h = 0; h < range.count; ++h)
    lanes->fmaBroadcast(acc[h], value, probability + (range.first + h) * lanesBytes);
}

void AttentionGenerator::fullValues(HeadRange range) {
  forEachChunk(range, [&](const std::vector<Lanes16> &acc, const Gpr &d) {
    for (unsigned key = 0; key < tileKeys; ++key)
      addValue(acc, range, values + d * static_cast<int>(elementBytes) + key * valueRowBytes(),
               frame + layout.scores + key * floatBytes);
  });
}

void AttentionGenerator::partialValues(HeadRange range, const Gpr &firstLane, const Gpr &lastLane) {
  const Gpr lane = a.takeGeneral("lane"), cursor = a.takeGeneral("value cursor");
  forEachChunk(range, [&](const std::vector<Lanes16> &acc, const Gpr &d) {
    Xbyak::Label top;
    a.imul(cursor, firstLane, static_cast<int>(valueRowBytes()));
    a.add(cursor, values);
    a.mov(lane, firstLane);
    a.L(top);
    addValue(acc, range, cursor + d * static_cast<int>(elementBytes),
             frame + lane * floatBytes + layout.scores);
    a.add(cursor, valueRowBytes());
    a.add(lane, 1);
    a.cmp(lane, lastLane);
    a.jle(top);
  });
}

/// out[h] = acc[h] / sum[h]
void AttentionGenerator::divideBySum() {
  const Gpr d = a.takeGeneral("offset"), head = a.takeGeneral("head");
  const Gpr row = a.takeGeneral("row of out");
  const Lanes16 sum = lanes->take("sum"), acc = lanes->take("accumulator");
  a.mov(row, out);
  a.loopBelow(head, spec.group * floatBytes, floatBytes, [&] {
    lanes->broadcast(sum, frame + head + layout.sum);
    a.loopBelow(d, headBytes(), lanesBytes, [&] {
      lanes->load(acc, row + d);
      lanes->divide(acc, acc, sum);
      lanes->store(row + d, acc);
    });
    a.add(row, headBytes());
  });
}

} // namespace

KernelCode generateAttention(const KernelSpec &spec) { return AttentionGenerator(spec).generate(); }

} // namespace inf
