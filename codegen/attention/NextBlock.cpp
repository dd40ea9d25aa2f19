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

} // namespace inf
