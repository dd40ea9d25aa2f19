// exp and sigmoid of sixteen lanes, in place: the operations of codegen/Exp.h in its order.
#pragma once

#include "codegen/Lanes.h"

namespace inf {

/// x = exp(x). NaN stays NaN, below exppoly::minInput gives 0, above maxInput exp(maxInput).
/// Borrows two Lanes16, a mask and, on AVX2, one more register.
void emitExp(LanesEmitter &lanes, const Lanes16 &x);

/// x = 1 / (1 + exp(-x)), with an IEEE division. Borrows what emitExp does.
void emitSigmoid(LanesEmitter &lanes, const Lanes16 &x);

} // namespace inf
