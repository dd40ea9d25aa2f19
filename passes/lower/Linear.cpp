#include "passes/lower/Linear.h"

#include "codegen/KernelArgs.h"
#include "passes/KernelUse.h"
#include "passes/lower/Quantize.h"
#include "passes/lower/Stages.h"

using namespace mlir;

namespace inf {

namespace {

PackedLayout layoutOf(Operation *op, Value weight) {
  for (const WeightUse &use : weightUses(op))
    if (use.value == weight)
      return static_cast<PackedLayout>(use.layout);
  llvm::report_fatal_error("a product without its weight among its uses");
}

} // namespace

LinearShape linearShape(StepFrame &frame, Operation *op, Value weight,
                        std::optional<ir::ActivationAttr> activation) {
  auto type = cast<ir::WeightType>(weight.getType());
  auto partition = op->getAttrOfType<ir::PartitionAttr>(ir::partitionAttrName);
  auto format = static_cast<WeightFormat>(frame.formatOf(weight));
  PackedLayout layout = layoutOf(op, weight);
  int64_t panelsOfUnit = activation ? 2 : 1; // packed panels behind 16 outputs
  int64_t packed = int64_t(packedRows(layout, uint64_t(type.getRows())));
  LinearShape shape;
  shape.panels = packed / int64_t(panelRows) / panelsOfUnit;
  // The router's rows are not cut: its grain counts rows of the step.
  bool cutOutputs = partition.getAxis() == ir::Axis::Outputs;
  shape.unitPanels =
      cutOutputs ? std::max<int64_t>(partition.getGrain() / int64_t(panelRows), 1) : 1;
  shape.units = (shape.panels + shape.unitPanels - 1) / shape.unitPanels;
  shape.unitOutputs = shape.unitPanels * int64_t(panelRows);
  shape.unitRows = shape.unitOutputs * panelsOfUnit;
  shape.columns = type.getColumns();
  shape.panelBytes =
      int64_t(weightBytes(format, panelRows * packedColumns(layout, uint64_t(type.getColumns())))) *
      panelsOfUnit;
  shape.expertBytes = shape.panels * shape.panelBytes;
  shape.biasStride = packed;
  return shape;
}

void emitIfShare(StepFrame &frame, Operation *, const LinearShape &shape,
                 function_ref<void(Share)> body) {
  Emit &e = frame.e;
  Share mine = frame.share(e.constI64(shape.units));
  e.ifThen(e.less(mine.begin, mine.end), [&] { body(mine); });
}

void emitLinearArgs(StepFrame &frame, const LinearShape &shape, Share mine,
                    const LinearOperands &operands, Value weightPointer, Value expert) {
  Emit &e = frame.e;
  auto set = [&](Value value, size_t offset) { e.store(value, frame.linearArgs, int64_t(offset)); };
  Value firstPanel = e.mul(mine.begin, shape.unitPanels);
  Value lastPanel = e.min(e.mul(mine.end, shape.unitPanels), e.constI64(shape.panels));
  Value at = e.at(weightPointer, e.mul(firstPanel, shape.panelBytes));
  if (expert)
    at = e.at(at, e.mul(expert, shape.expertBytes));
  set(at, offsetof(LinearArgs, weights));
  auto setVector = [&](Value vector, size_t offset) {
    if (!vector) {
      set(e.null(), offset);
      return;
    }
    Value first = e.mul(mine.begin, shape.unitRows);
    if (expert)
      first = e.add(first, e.mul(expert, shape.biasStride));
    set(e.at(frame.weight(vector), e.mul(first, 4)), offset);
  };
  setVector(operands.bias, offsetof(LinearArgs, bias));
  setVector(operands.scale, offsetof(LinearArgs, scale));
  set(frame.xRows, offsetof(LinearArgs, x));
  set(frame.yRows, offsetof(LinearArgs, y));
  set(frame.residualRows, offsetof(LinearArgs, residual));
  set(frame.addendRows, offsetof(LinearArgs, addend));
  set(e.sub(lastPanel, firstPanel), offsetof(LinearArgs, panels));
  set(e.constI64(shape.columns), offsetof(LinearArgs, columns));
  bool clamped =
      operands.activation && operands.activation->getKind() == ir::ActivationKind::SwigluClamped;
  auto setting = [&](FloatAttr attribute) {
    return e.like(e.f32(), clamped ? float(attribute.getValueAsDouble()) : 0.0f);
  };
  if (clamped) {
    set(setting(operands.activation->getLimit()), offsetof(LinearArgs, swigluLimit));
    set(setting(operands.activation->getAlpha()), offsetof(LinearArgs, swigluAlpha));
  }
}

void emitRowPointers(StepFrame &frame, Value array, Value count,
                     function_ref<Value(Value)> pointer) {
  Emit &e = frame.e;
  e.loop(e.constI64(0), count, 1, [&](Value i) { e.store(pointer(i), e.at(array, e.mul(i, 8))); });
}

namespace {

/// Row i of the f32 outputs in scratch.
Value scratchOutput(StepFrame &frame, Operation *op, Value result, Value i) {
  Emit &e = frame.e;
  Value outputs = e.at(frame.scratch, scratchOf(op, *frame.model.getMaxRows()).outputs);
  return e.at(outputs, e.mul(i, floatRowBytes(ir::featuresOf(result))));
}

} // namespace

void emitOutputRows(StepFrame &frame, Operation *op, Value result, Share mine,
                    const LinearShape &shape, Value count, function_ref<Value(Value)> vectorAt) {
  Emit &e = frame.e;
  Value byte = e.mul(mine.begin, shape.unitOutputs * 4);
  emitRowPointers(frame, frame.yRows, count, [&](Value i) {
    if (ir::isRounded(result))
      return scratchOutput(frame, op, result, i); // of this share alone
    return e.at(vectorAt(i), byte);
  });
}

void emitStoreRounded(StepFrame &frame, Operation *op, Value result, Share mine,
                      const LinearShape &shape, Value count, function_ref<Value(Value)> vectorAt) {
  if (!ir::isRounded(result))
    return;
  Emit &e = frame.e;
  int64_t features = ir::featuresOf(result);
  Value begin = e.mul(mine.begin, shape.unitOutputs);
  Value end = e.min(e.mul(mine.end, shape.unitOutputs), e.constI64(features));
  e.loop(e.constI64(0), count, 1, [&](Value i) {
    emitRound(e, result, scratchOutput(frame, op, result, i), vectorAt(i), begin, end);
  });
}

void emitLinearCall(StepFrame &frame, Operation *op, Value rows) {
  Emit &e = frame.e;
  e.store(rows, frame.linearArgs, offsetof(LinearArgs, rows));
  e.store(e.at(frame.scratch, scratchOf(op, *frame.model.getMaxRows()).kernel), frame.linearArgs,
          offsetof(LinearArgs, scratch));
  emitKernelCall(frame, op, frame.linearArgs);
}

} // namespace inf
