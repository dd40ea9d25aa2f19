#include "passes/lower/Emit.h"

using namespace mlir;

namespace inf {

namespace {

unsigned alignmentOf(Type type) {
  Type element = type;
  if (auto vector = dyn_cast<VectorType>(type))
    element = vector.getElementType();
  return element.isIntOrFloat() ? (element.getIntOrFloatBitWidth() + 7) / 8 : 8;
}

} // namespace

Value Emit::constI32(int64_t value) {
  return b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(int32_t(value)));
}
Value Emit::constI64(int64_t value) {
  return b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(value));
}
Value Emit::like(Type type, float value) {
  auto scalar = b.getF32FloatAttr(value);
  if (auto vector = dyn_cast<VectorType>(type))
    return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(vector, scalar.getValue()));
  return b.create<arith::ConstantOp>(loc, scalar);
}
Value Emit::intLike(Type type, int64_t value) {
  auto scalar = b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(vector, scalar.getValue()));
  return b.create<arith::ConstantOp>(loc, scalar);
}

Value Emit::less(Value x, Value y) {
  return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, x, y);
}
Value Emit::equal(Value x, Value y) {
  return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, x, y);
}
Value Emit::notNull(Value pointer) {
  return b.create<LLVM::ICmpOp>(loc, LLVM::ICmpPredicate::ne, pointer, null());
}

// Compare and select, as minps does, rather than IEEE minimum: no NaN fix-up code. A NaN in the
// second operand passes through; callers put the constant first.
Value Emit::minf(Value x, Value y) {
  Value below = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, x, y);
  return b.create<arith::SelectOp>(loc, below, x, y);
}
Value Emit::maxf(Value x, Value y) {
  Value above = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGT, x, y);
  return b.create<arith::SelectOp>(loc, above, x, y);
}
Value Emit::broadcast(Value scalar, VectorType type) {
  return b.create<vector::BroadcastOp>(loc, type, scalar);
}

namespace {

Value foldLanes(Emit &e, Value vector, function_ref<Value(Value, Value)> combine) {
  int64_t lanes = cast<VectorType>(vector.getType()).getNumElements();
  while (lanes > 1) {
    lanes /= 2;
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < lanes; ++i) {
      low.push_back(i);
      high.push_back(i + lanes);
    }
    Value lower = e.b.create<vector::ShuffleOp>(e.loc, vector, vector, low);
    Value upper = e.b.create<vector::ShuffleOp>(e.loc, vector, vector, high);
    vector = combine(lower, upper);
  }
  return e.b.create<vector::ExtractOp>(e.loc, vector, ArrayRef<int64_t>{0});
}

} // namespace

Value Emit::sumLanes(Value vector) {
  return foldLanes(*this, vector, [&](Value x, Value y) { return addf(x, y); });
}
Value Emit::maxLanes(Value vector) {
  return foldLanes(*this, vector, [&](Value x, Value y) { return maxf(x, y); });
}

Value Emit::at(Value pointer, Value bytes) {
  return b.create<LLVM::GEPOp>(loc, ptr(), i8(), pointer, ArrayRef<LLVM::GEPArg>{bytes});
}
Value Emit::load(Type type, Value pointer, int64_t offset) {
  return b.create<LLVM::LoadOp>(loc, type, at(pointer, offset), alignmentOf(type));
}
void Emit::store(Value value, Value pointer, int64_t offset) {
  b.create<LLVM::StoreOp>(loc, value, at(pointer, offset), alignmentOf(value.getType()));
}
Value Emit::stack(int64_t bytes) {
  return b.create<LLVM::AllocaOp>(loc, ptr(), i8(), constI64(bytes), /*alignment=*/64);
}

Value Emit::addShared(Value pointer, Value value) {
  return b.create<LLVM::AtomicRMWOp>(loc, LLVM::AtomicBinOp::add, pointer, value,
                                     LLVM::AtomicOrdering::acq_rel);
}

void Emit::loop(Value begin, Value end, int64_t step, function_ref<void(Value)> body) {
  loop(begin, end, step, ValueRange{}, [&](Value i, ValueRange) {
    body(i);
    return SmallVector<Value>();
  });
}

SmallVector<Value> Emit::loop(Value begin, Value end, int64_t step, ValueRange init,
                              function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loopOp = b.create<scf::ForOp>(loc, begin, end, constI64(step), init,
                                     [&](OpBuilder &, Location, Value i, ValueRange carried) {
                                       OpBuilder::InsertionGuard guard(b);
                                       // scf::ForOp hands its own builder; ours must write to the
                                       // same place.
                                       b.setInsertionPointToEnd(i.getParentBlock());
                                       SmallVector<Value> next = body(i, carried);
                                       b.create<scf::YieldOp>(loc, next);
                                     });
  return SmallVector<Value>(loopOp.getResults());
}

void Emit::ifThen(Value condition, function_ref<void()> body) {
  auto op = b.create<scf::IfOp>(loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  body();
}

void Emit::ifElse(Value condition, function_ref<void()> body, function_ref<void()> other) {
  auto op = b.create<scf::IfOp>(loc, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  body();
  b.setInsertionPointToStart(op.elseBlock());
  other();
}

void Emit::elements(int64_t count, function_ref<void(Value, int64_t)> body) {
  int64_t whole = count / 16 * 16;
  if (whole)
    loop(constI64(0), constI64(whole), 16, [&](Value i) { body(i, 16); });
  if (whole < count)
    loop(constI64(whole), constI64(count), 1, [&](Value i) { body(i, 1); });
}

} // namespace inf
