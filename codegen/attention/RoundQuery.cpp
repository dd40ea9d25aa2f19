#include "codegen/attention/RoundQuery.h"

namespace inf {
namespace {

constexpr unsigned floatBytes = AttentionContext::floatBytes;

/// 16 at a time, and then perhaps 8: head_dim is a multiple of 8.
void roundFloats(AttentionContext &context, const Gpr &element) {
  LanesEmitter &lanes = *context.lanes;
  const unsigned count = context.spec.group * context.spec.headDim, rest = count % 16;
  const Lanes16 x = lanes.take("elements of q");
  const auto round = [&] {
    lanes.roundToBf16(x);
    lanes.store(context.frame + element * floatBytes + context.layout.query, x);
  };
  context.a.loopBelow(element, count - rest, 16, [&] {
    lanes.load(x, context.q + element * floatBytes);
    round();
  });
  if (rest == 0)
    return;
  lanes.loadHalf(x, context.q + element * floatBytes); // element is where the loop ended
  round();
}

/// 32 at a time, and then perhaps 8, 16 or 24.
void roundToPairs(AttentionContext &context, const Gpr &element) {
  LanesEmitter &lanes = *context.lanes;
  const unsigned count = context.spec.group * context.spec.headDim, rest = count % 32;
  const Lanes16 low = lanes.take("lower elements"), high = lanes.take("upper elements");
  const LanesEmitter::Address from = context.q + element * floatBytes,
                              behind = from + 16 * floatBytes;
  const auto round = [&] {
    context.a.vcvtne2ps2bf16(low.parts[0], high.parts[0], low.parts[0]);
    lanes.store(context.frame + element * 2 + context.layout.query, low);
  };
  context.a.loopBelow(element, count - rest, 32, [&] {
    lanes.load(low, from);
    lanes.load(high, behind);
    round();
  });
  if (rest == 0)
    return;
  rest == 8 ? lanes.loadHalf(low, from) : lanes.load(low, from);
  rest == 24 ? lanes.loadHalf(high, behind) : lanes.setZero(high);
  round();
}

} // namespace

void emitRoundQuery(AttentionContext &context) {
  const Gpr element = context.a.takeGeneral("element of q");
  if (context.dotInstruction())
    roundToPairs(context, element);
  else
    roundFloats(context, element);
  context.a.lea(context.q, context.a.ptr[context.frame + context.layout.query]);
}

} // namespace inf
