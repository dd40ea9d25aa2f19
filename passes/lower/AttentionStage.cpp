// Attention: a unit is one row and one kv head with all query heads that share it.
#include "codegen/KernelArgs.h"
#include "passes/lower/KvLayout.h"
#include "passes/lower/Quantize.h"
#include "passes/lower/Stages.h"

using namespace mlir;

namespace inf {

void lower(StepFrame &frame, ir::AttentionOp op) {
  Emit &e = frame.e;
  KvLayout kv = kvLayout(frame.model, op.getGroup());
  KvViewValues view = emitKvView(frame, op.getGroup());
  int64_t group = op.getHeads() / op.getKvHeads();
  int64_t groupBytes = group * int64_t(op.getHeadDim()) * 4;
  auto set = [&](Value value, size_t offset) {
    e.store(value, frame.attentionArgs, int64_t(offset));
  };
  set(view.base, offsetof(AttentionArgs, kvBase));
  set(e.constI64(kv.blockBytes), offsetof(AttentionArgs, blockBytes));
  set(e.like(e.f32(), float(op.getScale().convertToDouble())), offsetof(AttentionArgs, scale));
  bool rounded = ir::isRounded(op.getResult());
  Value outputs = e.at(frame.scratch, scratchOf(op, *frame.model.getMaxRows()).outputs);
  Value slot = e.mul(frame.kvSlot, kv.slotBytes);
  Value sinks = op.getSinks() ? frame.weight(op.getSinks()) : Value();

  Share mine = frame.share(e.mul(frame.rows, kv.kvHeads));
  e.loop(mine.begin, mine.end, 1, [&](Value unit) {
    Value row = e.div(unit, e.constI64(kv.kvHeads)), head = e.rem(unit, e.constI64(kv.kvHeads));
    Value position = frame.position(row);
    Value table = e.at(view.table, e.mul(e.mul(frame.sequence(row), view.tableStride), 4));
    Value headByte = e.mul(head, groupBytes);
    set(e.at(frame.rowOf(op.getQ(), row), headByte), offsetof(AttentionArgs, q));
    Value result = frame.rowOf(op.getResult(), row);
    set(rounded ? outputs : e.at(result, headByte), offsetof(AttentionArgs, out));
    set(table, offsetof(AttentionArgs, blockTable));
    Value keys = e.add(slot, e.mul(head, kv.headBytes));
    set(keys, offsetof(AttentionArgs, keyOffset));
    set(e.add(keys, kv.valueOffset), offsetof(AttentionArgs, valueOffset));
    Value first = kv.window ? e.max(e.add(position, 1 - kv.window), e.constI64(0)) : e.constI64(0);
    set(first, offsetof(AttentionArgs, firstKey));
    set(position, offsetof(AttentionArgs, lastKey));
    set(sinks ? e.at(sinks, e.mul(head, group * 4)) : e.null(), offsetof(AttentionArgs, sinks));
    emitKernelCall(frame, op, frame.attentionArgs);
    if (rounded) {
      Value begin = e.mul(head, group * int64_t(op.getHeadDim()));
      emitRound(e, op.getResult(), outputs, result, begin,
                e.add(begin, group * int64_t(op.getHeadDim())));
    }
  });
}

} // namespace inf
