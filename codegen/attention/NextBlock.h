// Where the block lies that comes after the one at hand, so that it can be fetched meanwhile.
#pragma once

#include "codegen/attention/AttentionContext.h"

namespace inf {

/// toNext = bytes from this block to the next, or, from the last one, to AttentionArgs::next; 0
/// where neither is. Keys and values are equally far.
void emitDistanceToNext(AttentionContext &context, const Gpr &toNext);

/// Fetches one line each of the keys and values of a step two blocks on, if this call goes there:
/// where memory comes in small pages (a guest's huge page need not be one of its host) that makes
/// their translation known before emitDistanceToNext's lines are asked for, which would wait for
/// it.
void emitReachTwoBlocksOn(AttentionContext &context);

} // namespace inf
