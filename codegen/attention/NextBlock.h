// Where the block lies that comes after the one at hand, so that it can be fetched meanwhile.
#pragma once

#include "codegen/attention/AttentionContext.h"

namespace inf {

/// toNext = bytes from this block to the next, or, from the last one, to AttentionArgs::next; 0
/// where neither is. Keys and values are equally far.
void emitDistanceToNext(AttentionContext &context, const Gpr &toNext);

} // namespace inf
