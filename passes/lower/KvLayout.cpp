#include "passes/lower/KvLayout.h"

#include "runtime/abi/inf_abi.h"

namespace inf {

KvLayout kvLayout(ir::KvGroupOp group) {
  KvLayout kv;
  kv.headDim = group.getHeadDim();
  kv.kvHeads = group.getKvHeads();
  kv.window = group.getWindow();
  kv.blockTokens = group.getBlockTokens();
  kv.slots = int64_t(group.getLayers().size());
  kv.elementBytes = group.getElement() == "bf16" ? 2 : 4;
  kv.together = kv.isBf16() ? 2 : 1;
  kv.headBytes = kv.blockTokens * kv.headDim * kv.elementBytes;
  kv.valueOffset = kv.kvHeads * kv.headBytes;
  kv.slotBytes = 2 * kv.valueOffset;
  kv.blockBytes = kv.slots * kv.slotBytes;
  for (auto other : group->getParentOfType<ir::ModelOp>().getBody().getOps<ir::KvGroupOp>()) {
    if (other == group)
      break;
    ++kv.index;
  }
  return kv;
}

KvLayout kvLayout(ir::ModelOp model, llvm::StringRef group) {
  return kvLayout(model.lookupSymbol<ir::KvGroupOp>(group));
}

KvViewValues emitKvView(StepFrame &frame, llvm::StringRef group) {
  Emit &e = frame.e;
  Value views = e.load(e.ptr(), frame.step, offsetof(inf_step, kv));
  Value view = e.at(views, kvLayout(frame.model, group).index * int64_t(sizeof(inf_kv_view)));
  return {e.load(e.ptr(), view, offsetof(inf_kv_view, base)),
          e.load(e.ptr(), view, offsetof(inf_kv_view, table)),
          e.load(e.i64(), view, offsetof(inf_kv_view, table_stride)),
          e.load(e.i64(), view, offsetof(inf_kv_view, slot_stride))};
}

} // namespace inf
