// q of bf16 dots: rounded once a call, into the frame.
#pragma once

#include "codegen/attention/AttentionContext.h"

namespace inf {

/// Leaves in context.q where the rounded q lies, [group][headDim]: pairs of bf16 for vdpbf16ps and
/// tiles, else floats. Denormals are taken for zero, which MXCSR must say already.
void emitRoundQuery(AttentionContext &context);

} // namespace inf
