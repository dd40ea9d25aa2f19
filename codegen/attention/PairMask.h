// Of a pair of keys one may be out of range, and hold anything.
#pragma once

#include "codegen/attention/AttentionContext.h"

namespace inf {

/// Points `mask` at a line of dwords that clears the key of the pair (lane, lane + 1) that is out
/// of the frame's range, if any.
void emitPointAtPairMask(AttentionContext &context, const Gpr &mask, const Gpr &lane);

} // namespace inf
