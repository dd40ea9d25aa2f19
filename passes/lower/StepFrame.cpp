#include "passes/lower/StepFrame.h"

#include "codegen/KernelArgs.h"
#include "passes/BlockWeights.h"
#include "runtime/abi/inf_abi.h"

using namespace mlir;

namespace inf {

StepFrame::StepFrame(Emit &emitter, ir::ModelOp modelOp, Value stepPointer, Value threadIndex)
    : e(emitter), model(modelOp), step(stepPointer), thread(threadIndex) {
  auto count = [&](size_t offset) { return e.widen(e.load(e.i32(), step, int64_t(offset))); };
  auto pointer = [&](size_t offset) { return e.load(e.ptr(), step, int64_t(offset)); };
  linearArgs = e.stack(sizeof(LinearArgs));
  attentionArgs = e.stack(sizeof(AttentionArgs));
  for (Value *array : {&xRows, &yRows, &residualRows, &addendRows})
    *array = e.stack(maxRowTile * 8);
  rows = count(offsetof(inf_step, rows));
  outputRows = count(offsetof(inf_step, output_rows));
  threads = count(offsetof(inf_step, threads));
  rowArray = pointer(offsetof(inf_step, row));
  arena = pointer(offsetof(inf_step, arena));
  weights = pointer(offsetof(inf_step, weights));
  scratch = e.at(pointer(offsetof(inf_step, scratch)), e.mul(thread, int64_t(*model.getScratch())));
}

RowsAt StepFrame::buffer(Value value) {
  Value stride = e.constI64(rowBytes(value));
  auto result = dyn_cast<OpResult>(value);
  if (!result) // the residual stream of a block
    return {arena, stride};
  auto offsets = result.getOwner()->getAttrOfType<DenseI64ArrayAttr>(ir::offsetsAttrName);
  int64_t offset = offsets.asArrayRef()[result.getResultNumber()];
  if (offset == callerBuffer)
    return {e.load(e.ptr(), step, offsetof(inf_step, logits)), stride};
  return {e.at(arena, offset), stride};
}

Value StepFrame::rowOf(Value value, Value index) {
  RowsAt at = buffer(value);
  return e.at(at.pointer, e.mul(index, at.strideBytes));
}

Value StepFrame::weight(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    int64_t entry = int64_t(argument.getArgNumber()) - 1;
    return e.at(weights, e.load(e.i64(), weightTable, entry * 8));
  }
  ir::WeightOp declared = weightsBehind(model, value).front();
  return e.at(weights, int64_t(*declared.getOffset()));
}

ir::Format StepFrame::formatOf(Value value) {
  return *weightsBehind(model, value).front().getFormat();
}

Share StepFrame::share(Value count) {
  Value begin = e.div(e.mul(count, thread), threads);
  Value end = e.div(e.mul(count, e.add(thread, 1)), threads);
  return {begin, end};
}

void StepFrame::ownRows(Value value, function_ref<void(Value)> body) {
  Share mine = share(rowCount(value));
  e.loop(mine.begin, mine.end, 1, body);
}

void StepFrame::barrier() {
  Value function = e.load(e.ptr(), step, offsetof(inf_step, barrier));
  Value state = e.load(e.ptr(), step, offsetof(inf_step, barrier_state));
  Value index = e.b.create<arith::TruncIOp>(e.loc, e.i32(), thread);
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(e.b.getContext()), {e.ptr(), e.i32()});
  e.b.create<LLVM::CallOp>(e.loc, type, ValueRange{function, state, index});
}

Value StepFrame::rowField(Value index, int64_t offset) {
  Value row = e.at(rowArray, e.mul(index, int64_t(sizeof(inf_row))));
  return e.widen(e.load(e.i32(), row, offset));
}
Value StepFrame::position(Value index) { return rowField(index, offsetof(inf_row, position)); }
Value StepFrame::sequence(Value index) { return rowField(index, offsetof(inf_row, sequence)); }

} // namespace inf
