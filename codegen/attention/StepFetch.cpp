#include "codegen/attention/StepFetch.h"

#include <algorithm>

#include "codegen/attention/NextBlock.h"

namespace inf {

void StepFetch::begin() {
  const Gpr toNext = context.a.takeGeneral("to the next block");
  emitDistanceToNext(context, toNext);
  context.a.mov(context.a.qword[context.frame + context.layout.toNext], toNext);
}

void StepFetch::emit(unsigned firstQuarter, unsigned endQuarter, unsigned index, unsigned count) {
  constexpr unsigned firstLevelBytes = 16 * 1024; // a third of it
  KernelAssembler &a = context.a;
  const Gpr toNext = a.takeGeneral("to the next block");
  const unsigned pages = 2 * pagesOfEach(),
                 slots = pages * (std::min(bytes, pageBytes) / lineBytes);
  const auto slotAt = [&](unsigned part) {
    return slots * (firstQuarter * count + (endQuarter - firstQuarter) * part) / (quarters * count);
  };
  a.mov(toNext, a.qword[context.frame + context.layout.toNext]);
  for (unsigned slot = slotAt(index); slot < slotAt(index + 1); ++slot) {
    const unsigned page = slot % pages;
    const unsigned at = page / 2 * pageBytes + slot / pages * lineBytes;
    if (at >= bytes)
      continue;
    const Xbyak::Address line =
        a.ptr[(page % 2 == 0 ? context.keys : context.values) + toNext + at];
    2 * bytes <= firstLevelBytes ? a.prefetcht0(line) : a.prefetcht1(line);
  }
}

} // namespace inf
