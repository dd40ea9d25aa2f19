// exp, sigmoid, gated activations and number formats in step code; the same operations in the same
// order as the generated kernels (codegen/Exp.h), so the same bits.
#pragma once

#include "passes/lower/Emit.h"

namespace inf {

Value emitExp(Emit &e, Value x);
Value emitSigmoid(Emit &e, Value x);
/// The activation of one gate and one up value (or vectors of them).
Value emitActivation(Emit &e, ir::ActivationAttr activation, Value gate, Value up);

/// `lanes` values of `format` at `pointer`, as f32 (a scalar when lanes is 1). Not MXFP4.
Value emitLoadAsF32(Emit &e, ir::Format format, Value pointer, int64_t lanes);
/// Rounds f32 to bf16 bits, nearest even; NaN stays NaN.
Value emitToBf16(Emit &e, Value x);

} // namespace inf
