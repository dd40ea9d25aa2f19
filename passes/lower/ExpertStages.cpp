// The two stages of a mixture of experts. Both walk the (row, choice) pairs expert by expert, so
// that an expert's weights are streamed once for all rows that chose it; each thread keeps its own
// slice of outputs for every expert, and sorts the pairs for itself (a few thousand integers),
// which is cheaper than a barrier.
#include "passes/lower/Linear.h"
#include "passes/lower/Stages.h"

using namespace mlir;

namespace inf {

namespace {

struct SortedPairs {
  Value ends;  ///< i32 [experts]: one past each expert's last pair
  Value pairs; ///< i32: row * k + choice, by expert, rows ascending
};

/// Counting sort of the pairs by expert, into scratch. ends[e] is first where expert e begins and,
/// once its pairs are placed, where it ends.
SortedPairs emitSortPairs(StepFrame &frame, Operation *op, Value experts, int64_t expertCount) {
  Emit &e = frame.e;
  Scratch scratch = scratchOf(op, *frame.model.getMaxRows());
  Value ends = e.at(frame.scratch, scratch.counts), pairs = e.at(frame.scratch, scratch.pairs);
  int64_t k = ir::featuresOf(experts);
  Value zero = e.constI64(0), one = e.constI32(1);
  auto forPairs = [&](function_ref<void(Value, Value)> body) {
    e.loop(zero, frame.rows, 1, [&](Value row) {
      Value chosen = frame.rowOf(experts, row);
      e.loop(zero, e.constI64(k), 1, [&](Value choice) {
        Value expert = e.widen(e.load(e.i32(), e.at(chosen, e.mul(choice, 4))));
        body(e.add(e.mul(row, k), choice), e.at(ends, e.mul(expert, 4)));
      });
    });
  };
  auto addI32 = [&](Value x, Value y) -> Value { return e.b.create<arith::AddIOp>(e.loc, x, y); };
  e.loop(zero, e.constI64(expertCount + 1), 1,
         [&](Value i) { e.store(e.constI32(0), e.at(ends, e.mul(i, 4))); });
  forPairs([&](Value, Value end) { // counts, one place further on
    e.store(addI32(e.load(e.i32(), end, 4), one), end, 4);
  });
  e.loop(zero, e.constI64(expertCount), 1, [&](Value i) { // running sums: where experts begin
    Value at = e.at(ends, e.mul(i, 4));
    e.store(addI32(e.load(e.i32(), at), e.load(e.i32(), at, 4)), at, 4);
  });
  forPairs([&](Value pair, Value end) {
    Value at = e.load(e.i32(), end);
    Value index = e.b.create<arith::TruncIOp>(e.loc, e.i32(), pair);
    e.store(index, e.at(pairs, e.mul(e.widen(at), 4)));
    e.store(addI32(at, one), end);
  });
  return {ends, pairs};
}

/// body(expert, first, count) for tiles of each expert's sorted pairs.
void forExpertTiles(StepFrame &frame, Operation *op, SortedPairs sorted, int64_t expertCount,
                    function_ref<void(Value)> onExpert, function_ref<void(Value, Value)> onTile) {
  Emit &e = frame.e;
  auto partition = op->getAttrOfType<ir::PartitionAttr>(ir::partitionAttrName);
  int64_t tile = partition.getRowTile();
  e.loop(e.constI64(0), e.constI64(expertCount), 1, e.constI64(0),
         [&](Value expert, ValueRange carried) {
           Value begin = carried[0];
           Value end = e.widen(e.load(e.i32(), e.at(sorted.ends, e.mul(expert, 4))));
           e.ifThen(e.less(begin, end), [&] {
             onExpert(expert);
             e.loop(begin, end, tile, [&](Value first) {
               onTile(first, e.min(e.constI64(tile), e.sub(end, first)));
             });
           });
           return SmallVector<Value>{end};
         });
}

/// The pair at place `first + i` of the sorted pairs.
Value pairAt(Emit &e, SortedPairs sorted, Value first, Value i) {
  return e.widen(e.load(e.i32(), e.at(sorted.pairs, e.mul(e.add(first, i), 4))));
}

/// Start of vector `pair % k` of row `pair / k` in a [r, k, f] buffer: vectors are evenly spaced.
Value pairVector(StepFrame &frame, Value buffer, Value pair) {
  return frame.e.at(frame.buffer(buffer).pointer, frame.e.mul(pair, vectorBytes(buffer)));
}

} // namespace

void lower(StepFrame &frame, ir::ExpertUpOp op) {
  Emit &e = frame.e;
  int64_t experts = op.getWeight().getType().getExperts(), k = ir::featuresOf(op.getExperts());
  LinearShape shape = linearShape(frame, op, op.getWeight(), op.getActivation());
  emitIfShare(frame, op, shape, [&](Share mine) {
    SortedPairs sorted = emitSortPairs(frame, op, op.getExperts(), experts);
    LinearOperands operands;
    operands.bias = op.getBias();
    operands.activation = op.getActivation();
    Value weight = frame.weight(op.getWeight());
    forExpertTiles(
        frame, op, sorted, experts,
        [&](Value expert) { emitLinearArgs(frame, shape, mine, operands, weight, expert); },
        [&](Value first, Value count) {
          emitRowPointers(frame, frame.xRows, count, [&](Value i) {
            Value row = e.div(pairAt(e, sorted, first, i), e.constI64(k));
            return frame.rowOf(op.getX(), row);
          });
          auto resultAt = [&](Value i) {
            return pairVector(frame, op.getResult(), pairAt(e, sorted, first, i));
          };
          emitOutputRows(frame, op, op.getResult(), mine, shape, count, resultAt);
          emitLinearCall(frame, op, count);
          emitStoreRounded(frame, op, op.getResult(), mine, shape, count, resultAt);
        });
  });
}

/// The weighted sum needs no barrier: a thread sums the outputs it has just made itself.
void lower(StepFrame &frame, ir::ExpertDownOp op) {
  Emit &e = frame.e;
  int64_t experts = op.getWeight().getType().getExperts(), k = ir::featuresOf(op.getExperts());
  LinearShape shape = linearShape(frame, op, op.getWeight(), std::nullopt);
  emitIfShare(frame, op, shape, [&](Share mine) {
    SortedPairs sorted = emitSortPairs(frame, op, op.getExperts(), experts);
    LinearOperands operands;
    operands.bias = op.getBias();
    Value weight = frame.weight(op.getWeight());
    Value firstByte = e.mul(mine.begin, shape.unitOutputs * 4);
    forExpertTiles(
        frame, op, sorted, experts,
        [&](Value expert) { emitLinearArgs(frame, shape, mine, operands, weight, expert); },
        [&](Value first, Value count) {
          emitRowPointers(frame, frame.xRows, count, [&](Value i) {
            return pairVector(frame, op.getX(), pairAt(e, sorted, first, i));
          });
          emitRowPointers(frame, frame.yRows, count, [&](Value i) {
            Value to = pairVector(frame, op.getPartials(), pairAt(e, sorted, first, i));
            return e.at(to, firstByte);
          });
          emitLinearCall(frame, op, count);
        });
    Value end = e.min(e.mul(mine.end, shape.unitOutputs), e.constI64(shape.panels * 16));
    e.loop(e.constI64(0), frame.rows, 1, [&](Value row) {
      e.loop(e.mul(mine.begin, shape.unitOutputs), end, 16, [&](Value output) {
        Value byte = e.mul(output, 4);
        Value start = op.getResidual()
                          ? e.load(e.vec(16), e.at(frame.rowOf(op.getResidual(), row), byte))
                          : e.like(e.vec(16), 0);
        Value weights = frame.rowOf(op.getWeights(), row);
        Value sum =
            e.loop(e.constI64(0), e.constI64(k), 1, start, [&](Value choice, ValueRange carried) {
              Value pair = e.add(e.mul(row, k), choice);
              Value part = e.load(e.vec(16), e.at(pairVector(frame, op.getPartials(), pair), byte));
              Value share =
                  e.broadcast(e.load(e.f32(), e.at(weights, e.mul(choice, 4))), e.vec(16));
              return SmallVector<Value>{e.fma(share, part, carried[0])};
            })[0];
        e.store(sum, e.at(frame.rowOf(op.getResult(), row), byte));
      });
    });
  });
}

} // namespace inf
