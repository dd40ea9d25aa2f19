#include "codegen/attention/NextBlock.h"

namespace inf {

void emitDistanceToNext(AttentionContext &context, const Gpr &toNext) {
  KernelAssembler &a = context.a;
  Xbyak::Label last, done;
  const Gpr current = a.takeGeneral("this block");
  a.movsxd(current, a.dword[context.table]);
  a.mov(toNext, context.position);
  a.or_(toNext, context.spec.blockTokens - 1);
  a.cmp(toNext, context.arg(offsetof(AttentionArgs, lastKey)));
  a.jge(last);
  a.movsxd(toNext, a.dword[context.table + 4]);
  a.sub(toNext, current);
  a.imul(toNext, context.arg(offsetof(AttentionArgs, blockBytes)));
  a.jmp(done);
  a.L(last);
  a.mov(toNext, context.arg(offsetof(AttentionArgs, next)));
  a.test(toNext, toNext);
  a.jz(done);
  a.imul(current, context.arg(offsetof(AttentionArgs, blockBytes)));
  a.add(current, context.arg(offsetof(AttentionArgs, kvBase)));
  a.add(current, context.arg(offsetof(AttentionArgs, keyOffset)));
  a.sub(toNext, current);
  a.L(done);
}

void emitReachTwoBlocksOn(AttentionContext &context) {
  KernelAssembler &a = context.a;
  Xbyak::Label done;
  const Gpr block = a.takeGeneral("block after the next"), part = a.takeGeneral("keys or values");
  constexpr int blocksOn = 2;
  a.lea(block, a.ptr[context.position + blocksOn * context.spec.blockTokens]);
  a.cmp(block, context.arg(offsetof(AttentionArgs, lastKey)));
  a.jg(done);
  a.movsxd(block, a.dword[context.table + blocksOn * sizeof(int32_t)]);
  a.imul(block, context.arg(offsetof(AttentionArgs, blockBytes)));
  a.add(block, context.arg(offsetof(AttentionArgs, kvBase)));
  a.add(block, context.inBlock);
  for (size_t offset : {offsetof(AttentionArgs, keyOffset), offsetof(AttentionArgs, valueOffset)}) {
    a.mov(part, context.arg(offset));
    a.prefetcht1(a.ptr[block + part]);
  }
  a.L(done);
}

} // namespace inf
