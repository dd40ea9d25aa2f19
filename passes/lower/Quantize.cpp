#include "passes/lower/Quantize.h"

#include "passes/lower/Math.h"
#include "runtime/abi/ActivationRows.h"

using namespace mlir;

namespace inf {

namespace {

constexpr int64_t lanes = 16, largestCode = 127;

/// A block of 32 as two vectors.
struct Halves {
  Value low, high;
};

Halves onBoth(Halves x, function_ref<Value(Value)> operation) {
  return {operation(x.low), operation(x.high)};
}

/// The largest magnitude. Magnitudes are compared as integers: that is exact, and a NaN, being
/// above infinity, is the largest of all, so that it reaches the scale and whatever reads it.
Value emitLargest(Emit &e, Halves x) {
  auto ints = VectorType::get({lanes}, e.i32());
  Halves magnitudes = onBoth(x, [&](Value half) -> Value {
    Value bits = e.b.create<arith::BitcastOp>(e.loc, ints, half);
    return e.b.create<arith::AndIOp>(e.loc, bits, e.intLike(ints, 0x7fffffff));
  });
  Value larger = e.b.create<arith::MaxSIOp>(e.loc, magnitudes.low, magnitudes.high);
  Value largest = e.b.create<vector::ReductionOp>(e.loc, vector::CombiningKind::MAXSI, larger);
  return e.b.create<arith::BitcastOp>(e.loc, e.f32(), largest);
}

/// round(x / scale) in -127..127, ties to even. A NaN becomes 127 and meets a scale that is NaN.
Halves emitCodes(Emit &e, Halves x, Value scale) {
  Type type = e.vec(lanes);
  Value isZero =
      e.b.create<arith::CmpFOp>(e.loc, arith::CmpFPredicate::OEQ, scale, e.like(e.f32(), 0));
  Value divisor = e.broadcast(e.b.create<arith::SelectOp>(e.loc, isZero, e.like(e.f32(), 1), scale),
                              e.vec(lanes));
  return onBoth(x, [&](Value half) -> Value {
    Value steps = e.b.create<LLVM::NearbyintOp>(e.loc, type, e.divf(half, divisor));
    steps = e.maxf(e.minf(steps, e.like(type, largestCode)), e.like(type, -largestCode));
    return e.b.create<arith::FPToSIOp>(e.loc, VectorType::get({lanes}, e.i32()), steps);
  });
}

/// The next power of two from a number that is not negative upwards: 0 stays 0, as do infinity and
/// NaN, and a denormal becomes the least normal number.
Value emitPowerOfTwo(Emit &e, Value x) {
  constexpr int32_t mantissa = 0x007fffff, exponent = 0x7f800000;
  Value bits = e.b.create<arith::BitcastOp>(e.loc, e.i32(), x);
  Value up = e.b.create<arith::AndIOp>(
      e.loc, e.b.create<arith::AddIOp>(e.loc, bits, e.constI32(mantissa)), e.constI32(exponent));
  Value power = e.b.create<arith::BitcastOp>(e.loc, e.f32(), up);
  Value isNan = e.b.create<arith::CmpFOp>(e.loc, arith::CmpFPredicate::UNO, x, x);
  return e.b.create<arith::SelectOp>(e.loc, isNan, x, power);
}

void emitQuantizeBlock(Emit &e, bool powersOfTwo, Value from, Value codesAt, Value blockAt) {
  constexpr int64_t halfBytes = lanes * 4;
  Halves x{e.load(e.vec(lanes), from), e.load(e.vec(lanes), from, halfBytes)};
  Value scale = e.divf(emitLargest(e, x), e.like(e.f32(), largestCode));
  if (powersOfTwo)
    scale = emitPowerOfTwo(e, scale);
  Halves codes = emitCodes(e, x, scale);
  Value both = e.b.create<arith::AddIOp>(e.loc, codes.low, codes.high);
  Value sum = e.b.create<vector::ReductionOp>(e.loc, vector::CombiningKind::ADD, both);
  Halves bytes = onBoth(codes, [&](Value half) -> Value {
    return e.b.create<arith::TruncIOp>(e.loc, VectorType::get({lanes}, e.i8()), half);
  });
  e.store(bytes.low, codesAt);
  e.store(bytes.high, codesAt, lanes);
  e.store(scale, blockAt, offsetof(Q8Block, scale));
  e.store(e.b.create<arith::MulIOp>(e.loc, sum, e.constI32(-16)), blockAt,
          offsetof(Q8Block, minus16Sum));
}

Value emitLoadF16(Emit &e, Value from, int64_t offset) {
  return e.b.create<arith::ExtFOp>(e.loc, e.f32(), e.load(e.b.getF16Type(), from, offset));
}

/// 16 codes of a block as integers: bytes, or the nibbles at bit `shift` of 16 bytes.
Value emitCodesOf(Emit &e, ir::Format format, Value from, int64_t offset, int64_t shift) {
  auto bytes = VectorType::get({lanes}, e.i8());
  auto ints = VectorType::get({lanes}, e.i32());
  Value codes = e.load(bytes, from, offset);
  if (format == ir::Format::INT8)
    return e.b.create<arith::ExtSIOp>(e.loc, ints, codes);
  codes = e.b.create<arith::ExtUIOp>(e.loc, ints, codes);
  codes = e.b.create<arith::ShRUIOp>(e.loc, codes, e.intLike(ints, shift));
  return e.b.create<arith::AndIOp>(e.loc, codes, e.intLike(ints, 15));
}

} // namespace

void emitDequantizeBlock(Emit &e, ir::Format format, Value block, Value to) {
  bool bytes = format == ir::Format::INT8, offset = format == ir::Format::INT4A;
  int64_t codesAt = offset ? 4 : 2;
  Value scale = e.broadcast(emitLoadF16(e, block, 0), e.vec(lanes));
  Value minimum = offset ? e.broadcast(emitLoadF16(e, block, 2), e.vec(lanes)) : Value();
  for (int64_t half = 0; half < 2; ++half) {
    Value codes =
        emitCodesOf(e, format, block, codesAt + (bytes ? half * lanes : 0), bytes ? 0 : half * 4);
    if (format == ir::Format::INT4)
      codes = e.b.create<arith::SubIOp>(e.loc, codes, e.intLike(codes.getType(), 8));
    Value values = e.b.create<arith::SIToFPOp>(e.loc, e.vec(lanes), codes);
    values = offset ? e.fma(values, scale, minimum) : e.mulf(values, scale);
    e.store(values, to, half * lanes * 4);
  }
}

namespace {

void emitToQ8(Emit &e, bool powersOfTwo, Value from, Value row, Value begin, Value end,
              int64_t features) {
  Value blocks = e.at(row, int64_t(q8BlocksOffset(uint64_t(features))));
  e.loop(begin, end, ir::q8Block, [&](Value i) {
    Value index = e.div(i, e.constI64(ir::q8Block));
    emitQuantizeBlock(e, powersOfTwo, e.at(from, e.mul(e.sub(i, begin), 4)), e.at(row, i),
                      e.at(blocks, e.mul(index, int64_t(sizeof(Q8Block)))));
  });
}

/// Kernels read pairs: what follows an odd last feature is 0.
void emitToBf16Row(Emit &e, Value from, Value row, Value begin, Value end, int64_t features) {
  auto store = [&](Value i, int64_t n) {
    Type type = n == 1 ? e.f32() : Type(e.vec(n));
    Value values = e.load(type, e.at(from, e.mul(e.sub(i, begin), 4)));
    e.store(emitToBf16(e, values), e.at(row, e.mul(i, 2)));
  };
  Value whole = e.add(begin, e.mul(e.div(e.sub(end, begin), e.constI64(lanes)), lanes));
  e.loop(begin, whole, lanes, [&](Value i) { store(i, lanes); });
  e.loop(whole, end, 1, [&](Value i) { store(i, 1); });
  if (features % 2 != 0)
    e.ifThen(e.equal(end, e.constI64(features)),
             [&] { e.store(e.intLike(e.i16(), 0), row, features * 2); });
}

} // namespace

void emitRound(Emit &e, Value rounded, Value from, Value row, Value begin, Value end) {
  int64_t features = ir::featuresOf(rounded);
  if (ir::isBf16(rounded))
    return emitToBf16Row(e, from, row, begin, end, features);
  emitToQ8(e, ir::isMxint8(rounded), from, row, begin, end, features);
}

void emitRoundRow(Emit &e, Value rounded, Value from, Value row) {
  emitRound(e, rounded, from, row, e.constI64(0), e.constI64(ir::featuresOf(rounded)));
}

} // namespace inf
