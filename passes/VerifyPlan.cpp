// Checks the memory plan from scratch, by walking time forward: at every op, what it writes must
// not lie over anything that is still needed.
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include "codegen/KernelArgs.h"
#include "passes/Buffers.h"
#include "passes/KernelUse.h"
#include "passes/Partitions.h"
#include "passes/Passes.h"
#include "passes/lower/StepFrame.h"

using namespace mlir;

namespace inf {
#define GEN_PASS_DEF_VERIFYPLAN
#include "InfPasses.h.inc"

namespace {

struct Range {
  int64_t begin = 0, end = 0;
  bool overlaps(const Range &other) const { return begin < other.end && other.begin < end; }
};

/// The cut is one that the lowered code can follow.
LogicalResult checkPartition(Operation &op) {
  ir::PartitionAttr natural = naturalPartition(&op);
  if (!natural)
    return success();
  auto found = op.getAttrOfType<ir::PartitionAttr>(ir::partitionAttrName);
  if (!found)
    return op.emitError() << describe(&op) << ": expected inf.partition; run inf-partition";
  // A head's halves meet in rope: only whole panels of other products may be gathered.
  bool sameGrain = natural.getGrain() == found.getGrain();
  bool chunks = found.getChunkKeys() == 0 ||
                (isa<ir::AttentionOp>(op) && found.getChunkKeys() == attentionChunkKeys);
  bool panels = natural.getAxis() == ir::Axis::Outputs && !isa<ir::QkvOp>(op) &&
                found.getGrain() % natural.getGrain() == 0;
  if (natural.getAxis() != found.getAxis() || (!sameGrain && !panels) || !chunks ||
      found.getGrain() > ir::largestSize || found.getRowTile() > maxRowTile)
    return op.emitError() << describe(&op) << ": expected a partition like " << natural
                          << " with a row_tile of at most " << maxRowTile << ", found " << found;
  return success();
}

class BodyChecker {
public:
  /// Buffers may lie up to the counters of chunks, which end the arena.
  BodyChecker(ir::ModelOp modelOp, Block &blockBody)
      : model(modelOp), body(blockBody),
        buffersEnd(int64_t(*modelOp.getArena()) -
                   chunkCounterBytes(modelOp, int64_t(*modelOp.getMaxRows()))) {}

  LogicalResult run() {
    bool isBlock = isa<ir::BlockOp>(body.getParentOp());
    if (isBlock)
      live[body.getArgument(0)] = rangeOf(body.getArgument(0), 0);
    for (Operation &op : body) {
      if (isBlock && op.hasTrait<OpTrait::IsTerminator>() &&
          failed(expectFront(op, op.getOperand(0), "result")))
        return failure();
      if (failed(checkPartition(op)) || failed(check(op)) || failed(checkPartials(op)))
        return failure();
      if (auto layer = dyn_cast<ir::LayerOp>(op); layer && failed(checkLayer(layer)))
        return failure();
      dropDead(op);
    }
    return success();
  }

private:
  /// Blocks find the residual stream at the front of the arena and leave it there.
  LogicalResult expectFront(Operation &op, Value value, StringRef what) {
    Range range = live.lookup(value);
    if (range.begin == 0 && range.end > 0)
      return success();
    return op.emitError() << describe(&op) << ": expected its " << what
                          << " at 0, where the residual stream is, found " << range.begin;
  }

  /// What outlives the layer must not lie where the layer's block works.
  LogicalResult checkLayer(ir::LayerOp layer) {
    if (failed(expectFront(*layer, layer.getX(), "x")) ||
        failed(expectFront(*layer, layer.getResult(), "result")))
      return failure();
    auto block = model.lookupSymbol<ir::BlockOp>(layer.getBlockAttr());
    for (Operation &op : block.getBody().front())
      for (Range worked : rangesOf(op))
        for (auto &[value, range] : live)
          if (value != layer.getX() && value != layer.getResult() && neededAfter(value, *layer) &&
              range.overlaps(worked))
            return layer.emitError() << describe(layer) << ": a buffer that is still read, at ["
                                     << range.begin << ", " << range.end << "), lies where block "
                                     << block.getSymName() << " works, at " << worked.begin;
    return success();
  }

  /// All that `op` writes to the arena.
  std::vector<Range> rangesOf(Operation &op) {
    std::vector<Range> ranges;
    auto offsets = op.getAttrOfType<DenseI64ArrayAttr>(ir::offsetsAttrName);
    for (OpResult result : bufferResults(&op))
      ranges.push_back(rangeOf(result, offsets ? offsets[result.getResultNumber()] : 0));
    if (std::optional<Range> partials = partialsRange(op))
      ranges.push_back(*partials);
    return ranges;
  }

  /// Of attention that may be split; nullopt when there are none inside the arena.
  std::optional<Range> partialsRange(Operation &op) {
    int64_t bytes = partialsOf(&op, int64_t(*model.getMaxRows())).bytes();
    auto offset = op.getAttrOfType<IntegerAttr>(ir::partialsAttrName);
    if (bytes == 0 || !offset || offset.getInt() < 0 || offset.getInt() > buffersEnd - bytes)
      return std::nullopt;
    return Range{offset.getInt(), offset.getInt() + bytes};
  }

  /// Partial results of attention lie over nothing that lives while it runs.
  LogicalResult checkPartials(Operation &op) {
    int64_t bytes = partialsOf(&op, int64_t(*model.getMaxRows())).bytes();
    if (bytes == 0)
      return success();
    std::optional<Range> partials = partialsRange(op);
    if (!partials || partials->begin % bufferAlignment)
      return op.emitError() << describe(&op) << ": expected inf.partials, 64-byte aligned, with "
                            << bytes << " bytes inside " << buffersEnd
                            << " bytes of arena; run inf-plan-memory";
    for (auto &[value, range] : live)
      if (range.overlaps(*partials))
        return op.emitError() << describe(&op) << ": its partial results at [" << partials->begin
                              << ", " << partials->end << ") overlap a buffer that is in use, at ["
                              << range.begin << ", " << range.end << ")";
    return success();
  }

  Range rangeOf(Value value, int64_t offset) {
    return {offset, offset + bufferBytes(value, *model.getMaxRows(), *model.getMaxOutputRows())};
  }

  bool neededAfter(Value value, Operation &op) {
    return llvm::any_of(value.getUsers(),
                        [&](Operation *user) { return op.isBeforeInBlock(user); });
  }

  LogicalResult check(Operation &op) {
    std::vector<OpResult> results = bufferResults(&op);
    if (results.empty())
      return success();
    auto offsets = op.getAttrOfType<DenseI64ArrayAttr>(ir::offsetsAttrName);
    if (!offsets)
      return op.emitError() << describe(&op) << ": expected inf.offsets; run inf-plan-memory";
    for (auto [result, offset] : llvm::zip(results, offsets.asArrayRef())) {
      if (offset == callerBuffer && isa<ir::LmHeadOp>(op))
        continue;
      int64_t arena = buffersEnd;
      if (offset > arena)
        return op.emitError() << describe(&op) << ": expected a buffer inside " << arena
                              << " bytes of arena, found one at " << offset;
      Range range = rangeOf(result, offset);
      if (offset < 0 || offset % bufferAlignment || range.end > arena)
        return op.emitError() << describe(&op) << ": expected a 64-byte aligned buffer inside "
                              << arena << " bytes of arena, found [" << range.begin << ", "
                              << range.end << ")";
      if (failed(checkOverlap(op, result, range)))
        return failure();
      live[result] = range;
    }
    return success();
  }

  LogicalResult checkOverlap(Operation &op, OpResult result, Range range) {
    for (auto &[value, other] : live) {
      if (!range.overlaps(other))
        continue;
      bool sameResult = value.getDefiningOp() == &op;
      bool inPlace = !sameResult && range.begin == other.begin && range.end == other.end &&
                     !neededAfter(value, op) && mayUpdate(op, result, value);
      if (!inPlace)
        return op.emitError() << describe(&op) << ": its result at [" << range.begin << ", "
                              << range.end << ") overlaps a buffer that is still read, at ["
                              << other.begin << ", " << other.end << ")";
    }
    return success();
  }

  /// Element i of the result depends on element i of `value` alone, so far as `value` is read.
  static bool mayUpdate(Operation &op, OpResult result, Value value) {
    if (result.getResultNumber() != 0 || llvm::count(op.getOperands(), value) != 1)
      return false;
    if (isa<ir::AddOp>(op))
      return true;
    return inPlaceOperand(&op) == value;
  }

  void dropDead(Operation &op) {
    SmallVector<Value> dead;
    for (auto &entry : live)
      if (!neededAfter(entry.first, op))
        dead.push_back(entry.first);
    for (Value value : dead)
      live.erase(value);
  }

  ir::ModelOp model;
  Block &body;
  const int64_t buffersEnd;
  llvm::MapVector<Value, Range> live;
};

LogicalResult checkWeights(ir::ModelOp model) {
  int64_t end = 0;
  for (auto weight : model.getBody().getOps<ir::WeightOp>()) {
    if (!weight.getOffset() || !weight.getBytes() || !weight.getFormat() || !weight.getLayout())
      return weight.emitError() << "weight " << weight.getSymName()
                                << ": expected format, layout, offset and bytes; run "
                                   "inf-plan-memory";
    ir::WeightType type = weight.getType();
    int64_t bytes = int64_t(type.getExperts()) *
                    int64_t(packedExpertBytes(static_cast<WeightFormat>(*weight.getFormat()),
                                              static_cast<PackedLayout>(*weight.getLayout()),
                                              type.getRows(), type.getColumns()));
    if (int64_t(*weight.getBytes()) != bytes || int64_t(*weight.getOffset()) < end)
      return weight.emitError() << "weight " << weight.getSymName() << ": expected " << bytes
                                << " bytes at or after " << end << ", found " << *weight.getBytes()
                                << " at " << *weight.getOffset()
                                << "; drop offsets and bytes to have them planned again";
    end = int64_t(*weight.getOffset()) + bytes;
  }
  return success();
}

struct VerifyPlanPass : impl::VerifyPlanBase<VerifyPlanPass> {
  void runOnOperation() override {
    ir::ModelOp model = getOperation();
    if (!model.getArena() || !model.getScratch() || !model.getMaxRows() ||
        !model.getMaxOutputRows()) {
      model.emitError() << "expected a memory plan; run inf-plan-memory";
      return signalPassFailure();
    }
    if (failed(checkWeights(model)))
      return signalPassFailure();
    WalkResult result = model.walk([&](Operation *op) {
      if (scratchOf(op, *model.getMaxRows()).bytes > int64_t(*model.getScratch())) {
        op->emitError() << describe(op) << ": needs more than the " << *model.getScratch()
                        << " bytes of scratch a thread has";
        return WalkResult::interrupt();
      }
      if (!isa<ir::BlockOp, ir::StepOp>(op))
        return WalkResult::advance();
      return failed(BodyChecker(model, op->getRegion(0).front()).run()) ? WalkResult::interrupt()
                                                                        : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace inf
