// Attention: a unit is one row and one kv head with all query heads that share it. Where a step has
// too few of these for its threads, and keys enough, a unit is one chunk of such a pair's keys:
//
//   row 0: kv head 0: chunks 0 1 2 3, kv head 1: 0 1 2 3;   row 1: kv head 0: chunk 0, ...
//
// Its partial result goes to the arena and is counted; who counts a pair's last chunk joins them
// all, so the threads need not meet in between. Which way is taken follows from rows, positions and
// threads, which all threads see alike, and changes no bit (codegen/KernelArgs.h).
#include "codegen/KernelArgs.h"
#include "passes/lower/KvLayout.h"
#include "passes/lower/Quantize.h"
#include "passes/lower/Stages.h"

using namespace mlir;

namespace inf {
namespace {

/// Below so many pairs of row and kv head a thread, one pair more or less is a large part of what
/// the slowest thread does.
constexpr int64_t fewPairs = 4;

class AttentionStage {
public:
  AttentionStage(StepFrame &stepFrame, ir::AttentionOp attention)
      : frame(stepFrame), e(frame.e), op(attention), kv(kvLayout(frame.model, op.getGroup())),
        group(int64_t(op.getHeads() / op.getKvHeads())),
        maxRows(int64_t(*frame.model.getMaxRows())), partials(partialsOf(op, maxRows)),
        view(emitKvView(frame, op.getGroup())) {}

  void emit() {
    set(view.base, offsetof(AttentionArgs, kvBase));
    set(e.constI64(kv.slotBytes), offsetof(AttentionArgs, blockBytes));
    set(e.like(e.f32(), float(op.getScale().convertToDouble())), offsetof(AttentionArgs, scale));
    outputs = e.at(frame.scratch, scratchOf(op, maxRows).outputs);
    slot = e.mul(frame.kvSlot, view.slotStride);
    set(e.null(), offsetof(AttentionArgs, next));
    sinks = op.getSinks() ? frame.weight(op.getSinks()) : Value();
    if (partials.bytes() == 0)
      return emitPairs();
    Value rows = splittableRows();
    Value chunks = chunksOfRows(rows);
    e.ifElse(
        e.less(rows, chunks), [&] { emitChunks(chunks); }, [&] { emitPairs(); });
  }

private:
  void set(Value value, size_t offset) { e.store(value, frame.attentionArgs, int64_t(offset)); }

  /// First key that a row at `position` sees.
  Value firstKey(Value position) {
    if (!kv.window)
      return e.constI64(0);
    return e.max(e.add(position, 1 - kv.window), e.constI64(0));
  }

  Value chunkOf(Value key) { return e.div(key, e.constI64(attentionChunkKeys)); }

  Value chunksOf(Value position) {
    return e.add(e.sub(chunkOf(position), chunkOf(firstKey(position))), 1);
  }

  /// All rows when threads would idle or be uneven without a split, else 0.
  Value splittableRows() {
    Value few = e.less(frame.rows, e.constI64(partials.rows + 1));
    Value uneven = e.less(e.mul(frame.rows, kv.kvHeads), e.mul(frame.threads, fewPairs));
    Value several = e.less(e.constI64(1), frame.threads);
    return e.b.create<arith::SelectOp>(e.loc, e.both(few, e.both(uneven, several)), frame.rows,
                                       e.constI64(0));
  }

  /// Chunks that rows [0, rows) have, for one kv head.
  Value chunksOfRows(Value rows) {
    return e.loop(e.constI64(0), rows, 1, e.constI64(0), [&](Value row, ValueRange carried) {
      return SmallVector<Value>{e.add(carried[0], chunksOf(frame.position(row)))};
    })[0];
  }

  /// Heads first: a head's keys stay in the cache from row to row, and each thread has rows of all
  /// positions, of which the later ones see more keys.
  void emitPairs() {
    Share mine = frame.share(e.mul(frame.rows, kv.kvHeads));
    e.loop(mine.begin, mine.end, 1, [&](Value unit) {
      Value row = e.rem(unit, frame.rows), head = e.div(unit, frame.rows);
      setPair(row, head);
      emitPair(row, head, frame.position(row));
    });
  }

  /// What this thread goes to behind a unit: that row's unit `following` where it is this thread's.
  void setNext(Value row, Value position, Value chunks, Value following, Value isMine) {
    Value head = e.div(following, chunks), chunk = e.rem(following, chunks);
    Value first = firstKey(position);
    Value key = e.max(first, e.mul(e.add(chunkOf(first), chunk), e.constI64(attentionChunkKeys)));
    Value entry = e.mul(e.div(key, e.constI64(kv.blockTokens)), 4);
    Value block = e.widen(e.load(e.i32(), e.at(tableOf(row), entry)));
    Value offset = e.add(e.mul(block, kv.slotBytes), keyOffset(head));
    set(e.b.create<arith::SelectOp>(e.loc, isMine, e.at(view.base, offset), e.null()),
        offsetof(AttentionArgs, next));
  }

  /// A row's units are its kv heads' chunks; rows may have any number of these.
  void emitChunks(Value chunksOfAllRows) {
    Share mine = frame.share(e.mul(chunksOfAllRows, kv.kvHeads));
    e.loop(e.constI64(0), frame.rows, 1, e.constI64(0), [&](Value row, ValueRange carried) {
      Value position = frame.position(row), chunks = chunksOf(position), before = carried[0];
      Value end = e.add(before, e.mul(chunks, kv.kvHeads));
      e.loop(e.max(mine.begin, before), e.min(mine.end, end), 1, [&](Value unit) {
        Value ofRow = e.sub(unit, before);
        Value head = e.div(ofRow, chunks), chunk = e.rem(ofRow, chunks);
        setPair(row, head);
        setNext(row, position, chunks, e.add(ofRow, 1),
                e.less(e.add(unit, 1), e.min(mine.end, end)));
        e.ifElse(
            e.equal(chunks, e.constI64(1)), [&] { emitPair(row, head, position); },
            [&] { emitChunk(row, head, position, chunk, chunks); });
      });
      return SmallVector<Value>{end};
    });
  }

  /// Arguments that are the same for all chunks of a pair.
  void setPair(Value row, Value head) {
    Value headByte = e.mul(head, headBytes());
    set(e.at(frame.rowOf(op.getQ(), row), headByte), offsetof(AttentionArgs, q));
    set(rounded() ? outputs : e.at(frame.rowOf(op.getResult(), row), headByte),
        offsetof(AttentionArgs, out));
    set(tableOf(row), offsetof(AttentionArgs, blockTable));
    Value keys = keyOffset(head);
    set(keys, offsetof(AttentionArgs, keyOffset));
    set(e.add(keys, kv.valueOffset), offsetof(AttentionArgs, valueOffset));
    set(sinks ? e.at(sinks, e.mul(head, group * 4)) : e.null(), offsetof(AttentionArgs, sinks));
  }

  Value tableOf(Value row) {
    return e.at(view.table, e.mul(e.mul(frame.sequence(row), view.tableStride), 4));
  }

  /// From the view's base, of block 0.
  Value keyOffset(Value head) { return e.add(slot, e.mul(head, kv.headBytes)); }

  void call(Value first, Value last, Value partial, Value partialCount) {
    set(first, offsetof(AttentionArgs, firstKey));
    set(last, offsetof(AttentionArgs, lastKey));
    set(partial, offsetof(AttentionArgs, partials));
    set(partialCount, offsetof(AttentionArgs, partialCount));
    emitKernelCall(frame, op, frame.attentionArgs);
  }

  void emitPair(Value row, Value head, Value position) {
    call(firstKey(position), position, e.null(), e.constI64(0));
    storeOutputs(row, head);
  }

  void emitChunk(Value row, Value head, Value position, Value chunk, Value chunks) {
    Value first = firstKey(position);
    Value begin = e.mul(e.add(chunkOf(first), chunk), attentionChunkKeys);
    Value pair = e.add(e.mul(row, kv.kvHeads), head);
    Value base = partialsOfPair(pair);
    call(e.max(first, begin), e.min(position, e.add(begin, attentionChunkKeys - 1)),
         e.at(base, e.mul(chunk, partials.partialBytes)), e.constI64(0));
    Value counter = e.at(chunkCounters(frame), e.mul(pair, 4));
    Value before = e.widen(e.addShared(counter, e.constI32(1)));
    e.ifThen(e.equal(e.add(before, 1), chunks), [&] {
      e.store(e.constI32(0), counter);
      call(first, position, base, chunks);
      storeOutputs(row, head);
    });
  }

  Value partialsOfPair(Value pair) {
    int64_t offset = op->getAttrOfType<IntegerAttr>(ir::partialsAttrName).getInt();
    return e.at(e.at(frame.arena, offset), e.mul(pair, partials.chunks * partials.partialBytes));
  }

  void storeOutputs(Value row, Value head) {
    if (!rounded())
      return;
    int64_t features = group * int64_t(op.getHeadDim());
    Value begin = e.mul(head, features);
    emitRound(e, op.getResult(), outputs, frame.rowOf(op.getResult(), row), begin,
              e.add(begin, features));
  }

  bool rounded() { return ir::isRounded(op.getResult()); }
  int64_t headBytes() { return group * int64_t(op.getHeadDim()) * 4; } ///< of a kv head's q

  StepFrame &frame;
  Emit &e;
  ir::AttentionOp op;
  const KvLayout kv;
  const int64_t group, maxRows;
  const Partials partials;
  const KvViewValues view;
  Value outputs, slot, sinks;
};

} // namespace

Value chunkCounters(StepFrame &frame) {
  int64_t bytes = chunkCounterBytes(frame.model, int64_t(*frame.model.getMaxRows()));
  return frame.e.at(frame.arena, int64_t(*frame.model.getArena()) - bytes);
}

void clearChunkCounters(StepFrame &frame) {
  Emit &e = frame.e;
  int64_t bytes = chunkCounterBytes(frame.model, int64_t(*frame.model.getMaxRows()));
  if (bytes == 0)
    return;
  e.ifThen(e.equal(frame.thread, e.constI64(0)), [&] {
    Value counters = chunkCounters(frame);
    e.loop(e.constI64(0), e.constI64(bytes), 8,
           [&](Value byte) { e.store(e.constI64(0), e.at(counters, byte)); });
  });
}

void lower(StepFrame &frame, ir::AttentionOp op) { AttentionStage(frame, op).emit(); }

} // namespace inf
