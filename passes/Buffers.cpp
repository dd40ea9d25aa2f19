#include "passes/Buffers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include "codegen/KernelArgs.h"
#include "passes/KernelUse.h"
#include "passes/Partitions.h"
#include "runtime/abi/ActivationRows.h"

using namespace mlir;

namespace inf {

int64_t floatRowBytes(int64_t features) { return alignTo(features, rowPadding) * 4; }

int64_t vectorBytes(Value value) {
  int64_t features = ir::featuresOf(value);
  if (ir::isBf16(value))
    return int64_t(bf16RowBytes(uint64_t(features)));
  return ir::isQ8(value) ? int64_t(q8RowBytes(uint64_t(features))) : floatRowBytes(features);
}

int64_t rowBytes(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t vectors = type.getRank() == 3 ? type.getShape()[1] : 1;
  return vectors * vectorBytes(value);
}

bool isOutputRows(Value value) {
  auto isActivations = [](Value operand) { return isa<RankedTensorType>(operand.getType()); };
  Operation *op = value.getDefiningOp();
  while (op && !isa<ir::LayerOp>(op)) {
    if (isa<ir::OutputRowsOp>(op))
      return true;
    // All activations of an op have the same rows (inf.step, C3): following one is enough.
    auto operand = llvm::find_if(op->getOperands(), isActivations);
    if (operand == op->operand_end())
      return false;
    op = (*operand).getDefiningOp();
  }
  return false;
}

int64_t bufferBytes(Value value, int64_t maxRows, int64_t maxOutputRows) {
  int64_t rows = isOutputRows(value) ? maxOutputRows : maxRows;
  return alignTo(rows * rowBytes(value), bufferAlignment);
}

std::vector<OpResult> bufferResults(Operation *op) {
  std::vector<OpResult> results;
  for (OpResult result : op->getResults())
    if (isa<RankedTensorType>(result.getType()))
      results.push_back(result);
  return results;
}

Value inPlaceOperand(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<ir::LinearOp, ir::ExpertDownOp>([](auto o) -> Value { return o.getResidual(); })
      .Case([](ir::AddOp o) -> Value { return o.getLhs(); })
      .Case([](ir::LayerOp o) -> Value { return o.getX(); })
      .Default(Value());
}

Partials partialsOf(Operation *op, int64_t maxRows) {
  auto attention = dyn_cast<ir::AttentionOp>(op);
  auto partition = op->getAttrOfType<ir::PartitionAttr>(ir::partitionAttrName);
  if (!attention || !partition || partition.getSplitRows() == 0)
    return {};
  int64_t kvHeads = int64_t(attention.getKvHeads());
  int64_t group = int64_t(attention.getHeads()) / kvHeads;
  return {std::min(maxRows, partition.getSplitRows()), kvHeads, mostChunks(attention),
          attentionPartialBytes(int64_t(attention.getHeadDim()), group)};
}

int64_t chunkCounterBytes(ir::ModelOp model, int64_t maxRows) {
  int64_t counters = 0;
  model.walk([&](ir::AttentionOp op) {
    Partials partials = partialsOf(op, maxRows);
    counters = std::max(counters, partials.rows * partials.kvHeads);
  });
  return alignTo(counters * 4, bufferAlignment);
}

Scratch scratchOf(Operation *op, int64_t maxRows) {
  Scratch scratch;
  auto take = [&](int64_t bytes) {
    int64_t at = scratch.bytes;
    scratch.bytes += alignTo(bytes, bufferAlignment);
    return at;
  };
  auto partition = op->getAttrOfType<ir::PartitionAttr>(ir::partitionAttrName);
  auto takeNorm = [&](Value x, Value norm) {
    if (norm && partition)
      scratch.normedRows = take(partition.getRowTile() * vectorBytes(x));
  };
  /// f32 rows that a stage makes before it stores them rounded.
  auto takeOutputs = [&](Value result) {
    if (ir::isRounded(result) && partition)
      scratch.outputs = take(partition.getRowTile() * floatRowBytes(ir::featuresOf(result)));
  };
  auto takePairs = [&](Value weight, Value experts) {
    int64_t count = cast<ir::WeightType>(weight.getType()).getExperts();
    scratch.counts = take((count + 1) * 4);
    scratch.pairs = take(maxRows * ir::featuresOf(experts) * 4);
  };
  auto takeKernel = [&] {
    std::optional<KernelSpec> spec = kernelOn(op);
    Value weight = kernelWeight(op);
    if (spec && weight && spec->op == KernelOp::Linear)
      scratch.kernel =
          take(linearScratchBytes(*spec, partition ? partition.getRowTile() : maxRows,
                                  cast<ir::WeightType>(weight.getType()).getColumns()));
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ir::RmsNormOp o) { takeOutputs(o.getResult()); })
      .Case([&](ir::AttentionOp o) { takeOutputs(o.getResult()); })
      .Case([&](ir::LinearOp o) {
        takeNorm(o.getX(), o.getNorm());
        takeOutputs(o.getResult());
      })
      .Case([&](ir::QkvOp o) {
        takeNorm(o.getX(), o.getNorm());
        // k and v of the row tile, before they go to the cache
        scratch.pairs = take(partition ? partition.getRowTile() *
                                             alignTo(o.getWeight().getType().getRows(), 16) * 4
                                       : 0);
      })
      .Case([&](ir::RouterOp o) {
        scratch.pairs = take(alignTo(o.getWeight().getType().getRows(), 16) * 4);
        takeOutputs(o.getNormed());
      })
      .Case([&](ir::ExpertUpOp o) {
        takePairs(o.getWeight(), o.getExperts());
        takeOutputs(o.getResult());
      })
      .Case([&](ir::ExpertDownOp o) { takePairs(o.getWeight(), o.getExperts()); });
  takeKernel();
  return scratch;
}

} // namespace inf
