#include "passes/lower/Math.h"

#include "codegen/Exp.h"

using namespace mlir;

namespace inf {

namespace {

/// i32 of the same shape.
Type intTypeOf(Emit &e, Type floatType) {
  if (auto vector = dyn_cast<VectorType>(floatType))
    return VectorType::get(vector.getShape(), e.i32());
  return e.i32();
}

} // namespace

Value emitExp(Emit &e, Value x) {
  Type type = x.getType(), ints = intTypeOf(e, type);
  auto constant = [&](float value) { return e.like(type, value); };
  Value tooLow =
      e.b.create<arith::CmpFOp>(e.loc, arith::CmpFPredicate::OLT, x, constant(exppoly::minInput));
  x = e.minf(constant(exppoly::maxInput), x);
  Value n = e.b.create<LLVM::NearbyintOp>(e.loc, type, e.mulf(x, constant(exppoly::log2e)));
  Value r = e.fma(n, constant(-exppoly::ln2Hi), x);
  r = e.fma(n, constant(-exppoly::ln2Lo), r);
  Value p = constant(exppoly::coefficients[0]);
  for (size_t i = 1; i < exppoly::coefficients.size(); ++i)
    p = e.fma(p, r, constant(exppoly::coefficients[i]));
  // n is garbage where x was too low or NaN; the select below drops those lanes, and a saturating
  // conversion keeps them from being poison.
  Value exponent = e.b.create<LLVM::CallIntrinsicOp>(
                          e.loc, ints, e.b.getStringAttr("llvm.fptosi.sat"), ValueRange{n})
                       .getResult(0);
  exponent = e.b.create<arith::ShLIOp>(e.loc, exponent, e.intLike(ints, 23));
  Value bits =
      e.b.create<arith::AddIOp>(e.loc, e.b.create<arith::BitcastOp>(e.loc, ints, p), exponent);
  Value result = e.b.create<arith::BitcastOp>(e.loc, type, bits);
  return e.b.create<arith::SelectOp>(e.loc, tooLow, constant(0), result);
}

Value emitSigmoid(Emit &e, Value x) {
  Value one = e.like(x.getType(), 1);
  return e.divf(one, e.addf(one, emitExp(e, e.negf(x))));
}

Value emitActivation(Emit &e, ir::ActivationAttr activation, Value gate, Value up) {
  if (activation.getKind() == ir::ActivationKind::Swiglu)
    return e.mulf(e.mulf(gate, emitSigmoid(e, gate)), up);
  float limit = float(activation.getLimit().getValueAsDouble());
  float alpha = float(activation.getAlpha().getValueAsDouble());
  Type type = gate.getType();
  gate = e.minf(e.like(type, limit), gate);
  up = e.maxf(e.like(type, -limit), e.minf(e.like(type, limit), up));
  Value gated = e.mulf(e.addf(up, e.like(type, 1)), gate);
  return e.mulf(gated, emitSigmoid(e, e.mulf(gate, e.like(type, alpha))));
}

Value emitLoadAsF32(Emit &e, ir::Format format, Value pointer, int64_t lanes) {
  auto typed = [&](Type element) -> Type {
    return lanes == 1 ? element : Type(VectorType::get({lanes}, element));
  };
  if (format == ir::Format::F32)
    return e.load(typed(e.f32()), pointer);
  if (format == ir::Format::F16)
    return e.b.create<arith::ExtFOp>(e.loc, typed(e.f32()),
                                     e.load(typed(e.b.getF16Type()), pointer));
  Value bits = e.b.create<arith::ExtUIOp>(e.loc, typed(e.i32()), e.load(typed(e.i16()), pointer));
  bits = e.b.create<arith::ShLIOp>(e.loc, bits, e.intLike(typed(e.i32()), 16));
  return e.b.create<arith::BitcastOp>(e.loc, typed(e.f32()), bits);
}

Value emitToBf16(Emit &e, Value x) {
  Type ints = intTypeOf(e, x.getType());
  auto shiftRight = [&](Value v, int64_t n) -> Value {
    return e.b.create<arith::ShRUIOp>(e.loc, v, e.intLike(ints, n));
  };
  Value bits = e.b.create<arith::BitcastOp>(e.loc, ints, x);
  Value odd = e.b.create<arith::AndIOp>(e.loc, shiftRight(bits, 16), e.intLike(ints, 1));
  Value rounded = e.b.create<arith::AddIOp>(
      e.loc, bits, e.b.create<arith::AddIOp>(e.loc, odd, e.intLike(ints, 0x7fff)));
  Value quiet = e.b.create<arith::OrIOp>(e.loc, bits, e.intLike(ints, 0x400000));
  Value isNan = e.b.create<arith::CmpFOp>(e.loc, arith::CmpFPredicate::UNO, x, x);
  Value chosen = e.b.create<arith::SelectOp>(e.loc, isNan, quiet, rounded);
  Type narrow = e.i16();
  if (auto vector = dyn_cast<VectorType>(ints))
    narrow = VectorType::get(vector.getShape(), e.i16());
  return e.b.create<arith::TruncIOp>(e.loc, narrow, shiftRight(chosen, 16));
}

} // namespace inf
