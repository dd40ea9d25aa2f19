#include "passes/lower/Quantize.h"

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

void emitQuantizeBlock(Emit &e, Value from, Value codesAt, Value blockAt) {
  constexpr int64_t halfBytes = lanes * 4;
  Halves x{e.load(e.vec(lanes), from), e.load(e.vec(lanes), from, halfBytes)};
  Value scale = e.divf(emitLargest(e, x), e.like(e.f32(), largestCode));
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

} // namespace

void emitQuantize(Emit &e, Value from, Value row, Value begin, Value end, int64_t features) {
  Value blocks = e.at(row, int64_t(q8BlocksOffset(uint64_t(features))));
  e.loop(begin, end, ir::q8Block, [&](Value i) {
    Value index = e.div(i, e.constI64(ir::q8Block));
    emitQuantizeBlock(e, e.at(from, e.mul(e.sub(i, begin), 4)), e.at(row, i),
                      e.at(blocks, e.mul(index, int64_t(sizeof(Q8Block)))));
  });
}

void emitQuantizeRow(Emit &e, Value from, Value row, int64_t features) {
  emitQuantize(e, from, row, e.constI64(0), e.constI64(features), features);
}

} // namespace inf
