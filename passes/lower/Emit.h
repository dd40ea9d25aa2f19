// Shorthand for writing step code: 64-bit integers, byte-addressed pointers, f32 scalars and
// vectors, loops as helpers that take a body.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include "ir/dialect/InfDialect.h"

namespace inf {

using mlir::Value;
using mlir::ValueRange;

class Emit {
public:
  Emit(mlir::OpBuilder &opBuilder, mlir::Location location) : b(opBuilder), loc(location) {}

  // Types
  mlir::Type i8() { return b.getI8Type(); }
  mlir::Type i16() { return b.getI16Type(); }
  mlir::Type i32() { return b.getI32Type(); }
  mlir::Type i64() { return b.getI64Type(); }
  mlir::Type f32() { return b.getF32Type(); }
  mlir::Type f64() { return b.getF64Type(); }
  mlir::Type ptr() { return mlir::LLVM::LLVMPointerType::get(b.getContext()); }
  mlir::VectorType vec(int64_t lanes) { return mlir::VectorType::get({lanes}, f32()); }

  // Constants; like(type, x) is x as a scalar or in every lane.
  Value constI32(int64_t value);
  Value constI64(int64_t value);
  Value like(mlir::Type floatType, float value);
  Value intLike(mlir::Type intType, int64_t value);
  Value null() { return b.create<mlir::LLVM::ZeroOp>(loc, ptr()); }

  // i64 arithmetic
  Value add(Value x, Value y) { return b.create<mlir::arith::AddIOp>(loc, x, y); }
  Value add(Value x, int64_t y) { return add(x, constI64(y)); }
  Value sub(Value x, Value y) { return b.create<mlir::arith::SubIOp>(loc, x, y); }
  Value mul(Value x, Value y) { return b.create<mlir::arith::MulIOp>(loc, x, y); }
  Value mul(Value x, int64_t y) { return mul(x, constI64(y)); }
  Value div(Value x, Value y) { return b.create<mlir::arith::DivUIOp>(loc, x, y); }
  Value rem(Value x, Value y) { return b.create<mlir::arith::RemUIOp>(loc, x, y); }
  Value min(Value x, Value y) { return b.create<mlir::arith::MinSIOp>(loc, x, y); }
  Value max(Value x, Value y) { return b.create<mlir::arith::MaxSIOp>(loc, x, y); }
  Value less(Value x, Value y);
  Value equal(Value x, Value y);
  Value both(Value x, Value y) { return b.create<mlir::arith::AndIOp>(loc, x, y); }
  Value notNull(Value pointer);
  Value widen(Value int32) { return b.create<mlir::arith::ExtSIOp>(loc, i64(), int32); }

  // Floating point, scalars or vectors
  Value addf(Value x, Value y) { return b.create<mlir::arith::AddFOp>(loc, x, y); }
  Value subf(Value x, Value y) { return b.create<mlir::arith::SubFOp>(loc, x, y); }
  Value mulf(Value x, Value y) { return b.create<mlir::arith::MulFOp>(loc, x, y); }
  Value divf(Value x, Value y) { return b.create<mlir::arith::DivFOp>(loc, x, y); }
  Value negf(Value x) { return b.create<mlir::arith::NegFOp>(loc, x); }
  Value fma(Value x, Value y, Value z) { return b.create<mlir::math::FmaOp>(loc, x, y, z); }
  Value minf(Value x, Value y);
  Value maxf(Value x, Value y);
  Value broadcast(Value scalar, mlir::VectorType type);
  /// Sum of the lanes in a fixed order: halves folded onto each other, i + (i + n/2).
  Value sumLanes(Value vector);
  Value maxLanes(Value vector);

  // Memory: pointers move by bytes; accesses are aligned to the element.
  Value at(Value pointer, Value bytes);
  Value at(Value pointer, int64_t bytes) { return bytes ? at(pointer, constI64(bytes)) : pointer; }
  Value load(mlir::Type type, Value pointer, int64_t offset = 0);
  void store(Value value, Value pointer, int64_t offset = 0);
  /// Stack memory of the function; the builder must stand in its entry block.
  Value stack(int64_t bytes);

  /// Adds to an i32 that several threads add to, and gives what was there before; what each wrote
  /// before its addition is seen by those that add later.
  Value addShared(Value pointer, Value value);

  // Control
  void loop(Value begin, Value end, int64_t step, llvm::function_ref<void(Value)> body);
  llvm::SmallVector<Value>
  loop(Value begin, Value end, int64_t step, ValueRange init,
       llvm::function_ref<llvm::SmallVector<Value>(Value, ValueRange)> body);
  void ifThen(Value condition, llvm::function_ref<void()> body);
  void ifElse(Value condition, llvm::function_ref<void()> body, llvm::function_ref<void()> other);
  /// body(index, lanes) over [0, count): 16 lanes at a time, then single elements (lanes 1).
  void elements(int64_t count, llvm::function_ref<void(Value, int64_t)> body);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace inf
