#include "codegen/ExpEmitter.h"

#include "codegen/Exp.h"

namespace inf {

void emitExp(LanesEmitter &lanes, const Lanes16 &x) {
  const LaneMask tooSmall = lanes.lessThanConstant(x, exppoly::minInput);
  lanes.minConstantFirst(x, exppoly::maxInput);

  // x = n * ln 2 + r
  const Lanes16 n = lanes.take("exponent"), p = lanes.take("polynomial");
  lanes.multiplyConstant(n, x, exppoly::log2e);
  lanes.roundToInteger(n, n);
  lanes.subtractProduct(x, n, exppoly::ln2Hi);
  lanes.subtractProduct(x, n, exppoly::ln2Lo);

  // e^r, then times 2^n through the exponent field
  lanes.setConstant(p, exppoly::coefficients[0]);
  for (size_t i = 1; i < exppoly::coefficients.size(); ++i)
    lanes.fmaConstant(p, x, exppoly::coefficients[i]);
  lanes.scaleByPowerOfTwo(p, n);

  lanes.replaceWhere(tooSmall, p, 0.0f);
  lanes.copy(x, p);
}

void emitSigmoid(LanesEmitter &lanes, const Lanes16 &x) {
  lanes.negate(x);
  emitExp(lanes, x);
  lanes.addConstant(x, 1.0f);
  const Lanes16 one = lanes.take("one");
  lanes.setConstant(one, 1.0f);
  lanes.divide(x, one, x);
}

} // namespace inf
