// Gives every buffer its offset in the arena and every weight its place in the payload.
//
// The arena: [residual stream | buffers]. A block's buffers start behind the residual, for every
// kind of block at the same place, since one layer runs at a time; the step's own buffers avoid
// that region only while layers run between their definition and last use. Partial results of split
// attention are a buffer that lives during that op; the counters of their chunks end the arena.
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include "passes/Buffers.h"
#include "passes/KernelUse.h"
#include "passes/Passes.h"

using namespace mlir;

namespace inf {
#define GEN_PASS_DEF_PLANMEMORY
#include "InfPasses.h.inc"

namespace {

/// A buffer: one value, or several that follow each other in place.
struct Interval {
  SmallVector<Value> values;
  int64_t first = 0, last = 0; ///< indices of ops in the body
  int64_t bytes = 0;
  int64_t offset = -2; ///< not placed yet
  bool overlaps(const Interval &other) const { return first <= other.last && other.first <= last; }
};

/// Plans one body (a block or the step).
class BodyPlanner {
public:
  BodyPlanner(Block &blockBody, int64_t rows, int64_t outputRows, int64_t firstFree,
              int64_t layerBytes)
      : body(blockBody), maxRows(rows), maxOutputRows(outputRows), base(firstFree),
        bytesOfLayers(layerBytes) {}

  /// Sets inf.offsets; returns the end of the used arena, or nullopt after an error.
  std::optional<int64_t> run(Value residual) {
    numberOps();
    if (residual)
      start(residual).offset = 0;
    for (Operation &op : body) {
      visit(op);
      if (failed(checkLayer(op)))
        return std::nullopt;
    }
    if (failed(placeYielded(residual)))
      return std::nullopt;
    int64_t end = place();
    writeOffsets();
    return end;
  }

private:
  void numberOps() {
    for (auto [i, op] : llvm::enumerate(body))
      index[&op] = int64_t(i);
  }

  int64_t lastUse(Value value) {
    int64_t last = value.getDefiningOp() ? index[value.getDefiningOp()] : -1;
    for (Operation *user : value.getUsers())
      last = std::max(last, index[user]);
    return last;
  }

  Interval &start(Value value) {
    of[value] = intervals.size();
    int64_t first = value.getDefiningOp() ? index[value.getDefiningOp()] : -1;
    return intervals.emplace_back(
        Interval{{value}, first, lastUse(value), bufferBytes(value, maxRows, maxOutputRows), -2});
  }

  /// `candidate` dies at `op` and no other operand shares its buffer: the result may take it over.
  bool mayTakeOver(Operation &op, Value candidate) {
    if (!candidate || !of.count(candidate) || intervals[of[candidate]].last != index[&op])
      return false;
    int64_t readers = llvm::count_if(op.getOperands(), [&](Value operand) {
      return of.count(operand) && of[operand] == of[candidate];
    });
    return readers == 1;
  }

  void visit(Operation &op) {
    if (int64_t bytes = partialsOf(&op, maxRows).bytes()) {
      partials[&op] = intervals.size();
      intervals.push_back({{}, index[&op], index[&op], bytes, -2});
    }
    std::vector<OpResult> results = bufferResults(&op);
    if (results.empty())
      return;
    Value candidate = inPlaceOperand(&op);
    // An addition can go into either side; the residual stream's side is the one that must.
    if (auto add = dyn_cast<ir::AddOp>(op))
      if (!mayTakeOver(op, candidate) || intervals[of[candidate]].offset != 0)
        if (mayTakeOver(op, add.getRhs()))
          candidate = add.getRhs();
    for (OpResult result : results) {
      if (result.getResultNumber() == 0 && mayTakeOver(op, candidate)) {
        Interval &interval = intervals[of[candidate]];
        of[result] = of[candidate];
        interval.values.push_back(result);
        interval.last = std::max(interval.last, lastUse(result));
      } else if (isa<ir::EmbeddingOp>(op)) {
        start(result).offset = 0; // the residual stream begins here
      } else {
        start(result);
      }
    }
    if (isa<ir::LmHeadOp>(op))
      intervals[of[op.getResult(0)]].offset = callerBuffer;
    if (isa<ir::LayerOp>(op)) // the layer's own buffers, alive during the layer only
      intervals.push_back({{}, index[&op], index[&op], bytesOfLayers, base});
  }

  /// A block finds its argument at the front of the arena and leaves its result there.
  LogicalResult checkLayer(Operation &op) {
    auto layer = dyn_cast<ir::LayerOp>(op);
    if (!layer ||
        (of[layer.getX()] == of[layer.getResult()] && intervals[of[layer.getResult()]].offset == 0))
      return success();
    return op.emitError() << describe(&op)
                          << ": expected the residual stream, from inf.embedding through every "
                             "layer and read by nothing else";
  }

  /// A block must leave its result where it found its argument.
  LogicalResult placeYielded(Value residual) {
    if (!residual)
      return success();
    Operation *yield = body.getTerminator();
    Value value = yield->getOperand(0);
    if (of[value] == of[residual])
      return success();
    return yield->emitError() << describe(yield)
                              << ": expected the result to be the residual stream updated in place "
                                 "(residual operands or inf.add), found a value of another buffer";
  }

  /// First fit, largest first: deterministic, and close to optimal for a dozen buffers.
  int64_t place() {
    SmallVector<size_t> order = llvm::to_vector(llvm::seq<size_t>(0, intervals.size()));
    llvm::stable_sort(order,
                      [&](size_t a, size_t b) { return intervals[a].bytes > intervals[b].bytes; });
    int64_t end = base;
    for (size_t i : order) {
      Interval &interval = intervals[i];
      if (interval.offset == -2)
        interval.offset = firstFit(interval);
      if (interval.offset != callerBuffer)
        end = std::max(end, interval.offset + interval.bytes);
    }
    return end;
  }

  int64_t firstFit(const Interval &wanted) {
    SmallVector<const Interval *> busy;
    for (const Interval &other : intervals)
      if (other.offset >= 0 && other.overlaps(wanted))
        busy.push_back(&other);
    llvm::sort(busy, [](auto *a, auto *b) { return a->offset < b->offset; });
    int64_t at = base;
    for (const Interval *other : busy)
      if (other->offset < at + wanted.bytes && at < other->offset + other->bytes)
        at = other->offset + other->bytes;
    return at;
  }

  void writeOffsets() {
    auto i64 = IntegerType::get(body.getParentOp()->getContext(), 64);
    for (Operation &op : body) {
      op.removeAttr(ir::partialsAttrName);
      if (auto found = partials.find(&op); found != partials.end())
        op.setAttr(ir::partialsAttrName, IntegerAttr::get(i64, intervals[found->second].offset));
      std::vector<OpResult> results = bufferResults(&op);
      if (results.empty())
        continue;
      SmallVector<int64_t> offsets;
      for (OpResult result : results)
        offsets.push_back(intervals[of[result]].offset);
      op.setAttr(ir::offsetsAttrName, DenseI64ArrayAttr::get(op.getContext(), offsets));
    }
  }

  Block &body;
  int64_t maxRows, maxOutputRows, base, bytesOfLayers;
  llvm::DenseMap<Operation *, int64_t> index;
  llvm::DenseMap<Value, size_t> of;             ///< value -> its interval
  llvm::DenseMap<Operation *, size_t> partials; ///< split attention -> the interval of its partials
  std::vector<Interval> intervals;
};

/// Weights follow each other in declaration order.
LogicalResult placeWeights(ir::ModelOp model) {
  int64_t offset = 0;
  for (auto weight : model.getBody().getOps<ir::WeightOp>()) {
    if (!weight.getFormat() || !weight.getLayout())
      return weight.emitError() << "weight " << weight.getSymName()
                                << ": expected format and layout; run inf-quantize and "
                                   "inf-select-kernels, or drop the weight if nothing uses it";
    ir::WeightType type = weight.getType();
    uint64_t bytes = uint64_t(type.getExperts()) *
                     packedExpertBytes(static_cast<WeightFormat>(*weight.getFormat()),
                                       static_cast<PackedLayout>(*weight.getLayout()),
                                       type.getRows(), type.getColumns());
    weight.setOffset(uint64_t(offset));
    weight.setBytes(bytes);
    offset = alignTo(offset + int64_t(bytes), int64_t(weightAlignment));
  }
  return success();
}

struct PlanMemoryPass : impl::PlanMemoryBase<PlanMemoryPass> {
  using PlanMemoryBase::PlanMemoryBase;

  void runOnOperation() override {
    ir::ModelOp model = getOperation();
    if (maxRows < 1 || maxOutputRows < 1 || maxRows > 65536 || maxOutputRows > 65536) {
      model.emitError() << "expected max-rows and max-output-rows in 1..65536, found "
                        << int64_t(maxRows) << " and " << int64_t(maxOutputRows);
      return signalPassFailure();
    }
    if (failed(placeWeights(model)) || failed(planArena(model)))
      return signalPassFailure();
    planScratch(model);
  }

  LogicalResult planArena(ir::ModelOp model) {
    auto residualType = ir::activationType(&getContext(), model.getHidden());
    int64_t residual =
        alignTo(maxRows * alignTo(residualType.getShape().back(), rowPadding) * 4, bufferAlignment);
    int64_t layersEnd = residual;
    for (auto block : model.getBody().getOps<ir::BlockOp>()) {
      BodyPlanner planner(block.getBody().front(), maxRows, maxOutputRows, residual, 0);
      std::optional<int64_t> end = planner.run(block.getArgument(0));
      if (!end)
        return failure();
      layersEnd = std::max(layersEnd, *end);
    }
    ir::StepOp step = *model.getBody().getOps<ir::StepOp>().begin();
    BodyPlanner planner(step.getBody().front(), maxRows, maxOutputRows, residual,
                        layersEnd - residual);
    std::optional<int64_t> end = planner.run(Value());
    if (!end)
      return failure();
    model.setMaxRows(maxRows);
    model.setMaxOutputRows(maxOutputRows);
    model.setArena(std::max(*end, layersEnd) + chunkCounterBytes(model, maxRows));
    return success();
  }

  void planScratch(ir::ModelOp model) {
    int64_t bytes = 0;
    model.walk([&](Operation *op) { bytes = std::max(bytes, scratchOf(op, maxRows).bytes); });
    model.setScratch(bytes);
  }
};

} // namespace
} // namespace inf
