#include "codegen/attention/PairMask.h"

#include <vector>

namespace inf {

void emitPointAtPairMask(AttentionContext &context, const Gpr &mask, const Gpr &lane) {
  constexpr unsigned lineBytes = AttentionContext::lineBytes;
  KernelAssembler &a = context.a;
  std::vector<uint32_t> masks;
  for (uint32_t kept : {0xFFFFFFFFu, 0xFFFF0000u, 0x0000FFFFu}) // both, the odd one, the even one
    masks.insert(masks.end(), lineBytes / sizeof kept, kept);
  Xbyak::Label firstInside, lastInside;
  a.lea(mask, a.ptr[a.rip + a.constant(masks)]);
  a.cmp(lane, a.qword[context.frame + context.layout.firstLane]);
  a.jge(firstInside);
  a.add(mask, lineBytes);
  a.L(firstInside);
  a.cmp(lane, a.qword[context.frame + context.layout.lastLane]);
  a.jne(lastInside);
  a.add(mask, 2 * lineBytes);
  a.L(lastInside);
}

} // namespace inf
