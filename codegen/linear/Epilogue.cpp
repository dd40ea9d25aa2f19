#include "codegen/linear/Epilogue.h"

#include "codegen/ExpEmitter.h"

namespace inf {

/// Of values of a packed panel, in the slice that temp points at.
LinearContext::Address Epilogue::perOutput(unsigned packedPanel) const {
  return context.temp + context.outOffset * (isPair(context.spec) ? 2 : 1) +
         packedPanel * LinearContext::panelBytes;
}

void Epilogue::finishLinear(const Tile &z, unsigned packedPanel) {
  LanesEmitter &lanes = *context.lanes;
  const Lanes16 perOutputValue = lanes.take("scale or bias");
  if (context.spec.scale) {
    context.a.mov(context.temp, context.arg(offsetof(LinearArgs, scale)));
    lanes.load(perOutputValue, perOutput(packedPanel));
    for (const Lanes16 &value : z)
      lanes.multiply(value, value, perOutputValue);
  }
  if (context.spec.addend)
    for (unsigned r = 0; r < z.size(); ++r) {
      loadRowPointer(offsetof(LinearArgs, addend), r);
      lanes.add(z[r], z[r], perOutput(packedPanel));
    }
  if (context.spec.bias) {
    context.a.mov(context.temp, context.arg(offsetof(LinearArgs, bias)));
    lanes.load(perOutputValue, perOutput(packedPanel));
    for (const Lanes16 &value : z)
      lanes.add(value, value, perOutputValue);
  }
}

void Epilogue::loadRowPointer(size_t pointersOffset, unsigned row) {
  context.a.mov(context.temp, context.arg(pointersOffset));
  context.a.mov(context.temp, context.a.ptr[context.temp + context.row * 8 + row * 8]);
}

void Epilogue::activate(const Lanes16 &up, const Lanes16 &gate) {
  if (context.spec.activation == Activation::Swiglu)
    swiglu(up, gate);
  else
    swigluClamped(up, gate);
}

/// up = (gate * sigmoid(gate)) * up
void Epilogue::swiglu(const Lanes16 &up, const Lanes16 &gate) {
  LanesEmitter &lanes = *context.lanes;
  const Lanes16 sigmoid = lanes.take("sigmoid");
  lanes.copy(sigmoid, gate);
  emitSigmoid(lanes, sigmoid);
  lanes.multiply(gate, gate, sigmoid);
  lanes.multiply(up, gate, up);
}

/// gate <= limit, -limit <= up <= limit;  up = ((up + 1) * gate) * sigmoid(alpha * gate)
void Epilogue::swigluClamped(const Lanes16 &up, const Lanes16 &gate) {
  LanesEmitter &lanes = *context.lanes;
  {
    const Lanes16 limit = lanes.take("limit");
    lanes.broadcast(limit, context.args + offsetof(LinearArgs, swigluLimit));
    lanes.min(gate, limit, gate);
    lanes.min(up, limit, up);
    lanes.negate(limit);
    lanes.max(up, limit, up);
  }
  const Lanes16 sigmoid = lanes.take("sigmoid");
  lanes.copy(sigmoid, gate);
  lanes.multiplyBroadcast(sigmoid, context.args + offsetof(LinearArgs, swigluAlpha));
  emitSigmoid(lanes, sigmoid);
  lanes.addConstant(up, 1.0f);
  lanes.multiply(up, up, gate);
  lanes.multiply(up, up, sigmoid);
}

void Epilogue::addResidualAndStore(const Lanes16 &v, unsigned row, unsigned output) {
  const unsigned ahead = output * LinearContext::panelBytes;
  if (context.spec.residual) {
    loadRowPointer(offsetof(LinearArgs, residual), row);
    context.lanes->add(v, v, context.temp + context.outOffset + ahead);
  }
  loadRowPointer(offsetof(LinearArgs, y), row);
  context.lanes->store(context.temp + context.outOffset + ahead, v);
}

} // namespace inf
