// Stages around one matrix product: norm in front, the kernel, what belongs to it behind.
#include "codegen/KernelArgs.h"
#include "passes/lower/Linear.h"
#include "passes/lower/Quantize.h"
#include "passes/lower/Rows.h"
#include "passes/lower/Stages.h"

using namespace mlir;

namespace inf {

namespace {

/// body(first row, number of rows) for tiles of this stage's rows.
void forRowTiles(StepFrame &frame, Operation *op, Value rows,
                 llvm::function_ref<void(Value, Value)> body) {
  Emit &e = frame.e;
  auto partition = op->getAttrOfType<ir::PartitionAttr>(ir::partitionAttrName);
  int64_t tile = partition.getRowTile();
  e.loop(e.constI64(0), rows, tile,
         [&](Value first) { body(first, e.min(e.constI64(tile), e.sub(rows, first))); });
}

/// Points the kernel at rows [first, first + count) of x: straight, or normed into scratch first.
void emitInputRows(StepFrame &frame, Operation *op, Value x, Value norm,
                   std::optional<llvm::APFloat> eps, Value first, Value count) {
  Emit &e = frame.e;
  if (!norm) {
    emitRowPointers(frame, frame.xRows, count,
                    [&](Value i) { return frame.rowOf(x, e.add(first, i)); });
    return;
  }
  Value normed = e.at(frame.scratch, scratchOf(op, *frame.model.getMaxRows()).normedRows);
  Value weight = frame.weight(norm);
  emitRowPointers(frame, frame.xRows, count, [&](Value i) {
    Value to = e.at(normed, e.mul(i, vectorBytes(x)));
    emitRmsNormRow(e, frame.rowOf(x, e.add(first, i)), weight, to, ir::featuresOf(x),
                   eps->convertToDouble());
    return to;
  });
}

} // namespace

void lower(StepFrame &frame, ir::LinearOp op) {
  Emit &e = frame.e;
  LinearShape shape = linearShape(frame, op, op.getWeight(), op.getActivation());
  emitIfShare(frame, op, shape, [&](Share mine) {
    LinearOperands operands;
    operands.bias = op.getBias();
    operands.scale = op.getScale();
    operands.activation = op.getActivation();
    emitLinearArgs(frame, shape, mine, operands, frame.weight(op.getWeight()), Value());
    forRowTiles(frame, op, frame.rowCount(op.getResult()), [&](Value first, Value count) {
      emitInputRows(frame, op, op.getX(), op.getNorm(), op.getEps(), first, count);
      Value byte = e.mul(mine.begin, shape.unitOutputs * 4);
      auto rowsAt = [&](Value array, Value buffer, Value offset) {
        emitRowPointers(frame, array, count, [&](Value i) {
          return e.at(frame.rowOf(buffer, e.add(first, i)), offset);
        });
      };
      emitOutputRows(frame, op, op.getResult(), mine, shape, count,
                     [&](Value i) { return frame.rowOf(op.getResult(), e.add(first, i)); });
      if (op.getResidual())
        rowsAt(frame.residualRows, op.getResidual(), byte);
      if (op.getAddend())
        rowsAt(frame.addendRows, op.getAddend(), e.mul(mine.begin, shape.unitRows * 4));
      emitLinearCall(frame, op, count);
      emitStoreRounded(frame, op, op.getResult(), mine, shape, count,
                       [&](Value i) { return frame.rowOf(op.getResult(), e.add(first, i)); });
    });
  });
}

void lower(StepFrame &frame, ir::LmHeadOp op) {
  Emit &e = frame.e;
  LinearShape shape = linearShape(frame, op, op.getWeight(), std::nullopt);
  RowsAt logits = frame.buffer(op.getResult());
  e.ifThen(e.notNull(logits.pointer), [&] {
    emitIfShare(frame, op, shape, [&](Share mine) {
      emitLinearArgs(frame, shape, mine, {}, frame.weight(op.getWeight()), Value());
      forRowTiles(frame, op, frame.outputRows, [&](Value first, Value count) {
        emitInputRows(frame, op, op.getX(), Value(), std::nullopt, first, count);
        emitRowPointers(frame, frame.yRows, count, [&](Value i) {
          Value row = e.at(logits.pointer, e.mul(e.add(first, i), logits.strideBytes));
          return e.at(row, e.mul(mine.begin, shape.unitOutputs * 4));
        });
        emitLinearCall(frame, op, count);
      });
    });
  });
}

namespace {

/// Norms, where the op says so, and rotates one head of q or k.
void emitTurnedHead(StepFrame &frame, ir::QkvOp op, Value norm, Value head, Value angles,
                    Value out) {
  int64_t headDim = op.getHeadDim();
  if (norm)
    emitRmsNormRow(frame.e, head, frame.weight(norm), head, headDim,
                   op.getHeadEps()->convertToDouble());
  emitRopeHead(frame.e, head, angles, out, headDim);
}

} // namespace

/// A unit is whole heads, so that rope finds both halves of its pairs on this thread. q goes to its
/// buffer; k and v pass through scratch on their way to the cache.
void lower(StepFrame &frame, ir::QkvOp op) {
  Emit &e = frame.e;
  int64_t headDim = op.getHeadDim(), heads = op.getHeads(), kvHeads = op.getKvHeads();
  LinearShape shape = linearShape(frame, op, op.getWeight(), std::nullopt);
  int64_t unitHeads = shape.unitOutputs / headDim;
  Value products = e.at(frame.scratch, scratchOf(op, *frame.model.getMaxRows()).pairs);
  int64_t productStride = alignTo(op.getWeight().getType().getRows(), rowPadding) * 4;
  emitIfShare(frame, op, shape, [&](Share mine) {
    LinearOperands operands;
    operands.bias = op.getBias();
    emitLinearArgs(frame, shape, mine, operands, frame.weight(op.getWeight()), Value());
    forRowTiles(frame, op, frame.rows, [&](Value first, Value count) {
      emitInputRows(frame, op, op.getX(), op.getNorm(), op.getEps(), first, count);
      emitRowPointers(frame, frame.yRows, count, [&](Value i) {
        return e.at(e.at(products, e.mul(i, productStride)),
                    e.mul(mine.begin, shape.unitOutputs * 4));
      });
      emitLinearCall(frame, op, count);
      e.loop(e.constI64(0), count, 1, [&](Value i) {
        Value row = e.add(first, i);
        Value angles = emitAngles(frame, op.getTable(), row);
        Value product = e.at(products, e.mul(i, productStride));
        auto headAt = [&](Value head) { return e.at(product, e.mul(head, headDim * 4)); };
        auto loopHeads = [&](int64_t from, int64_t to, llvm::function_ref<void(Value)> body) {
          e.loop(e.max(e.mul(mine.begin, unitHeads), e.constI64(from)),
                 e.min(e.mul(mine.end, unitHeads), e.constI64(to)), 1, body);
        };
        loopHeads(0, heads, [&](Value head) {
          Value q = e.at(frame.rowOf(op.getQ(), row), e.mul(head, headDim * 4));
          emitTurnedHead(frame, op, op.getQNorm(), headAt(head), angles, q);
        });
        loopHeads(heads, heads + kvHeads, [&](Value head) {
          emitTurnedHead(frame, op, op.getKNorm(), headAt(head), angles, headAt(head));
          Value kvHead = e.add(head, -heads);
          KvPlace place = emitKvPlace(frame, op.getGroup(), row, kvHead);
          emitStoreKey(frame, op.getGroup(), headAt(head), place.key, headDim);
        });
        loopHeads(heads + kvHeads, heads + 2 * kvHeads, [&](Value head) {
          Value kvHead = e.add(head, -(heads + kvHeads));
          KvPlace place = emitKvPlace(frame, op.getGroup(), row, kvHead);
          emitStoreValue(frame, op.getGroup(), headAt(head), place.value, headDim);
        });
      });
    });
  });
}

void lower(StepFrame &frame, ir::RouterOp op) {
  Emit &e = frame.e;
  LinearShape shape = linearShape(frame, op, op.getWeight(), std::nullopt);
  Scratch scratch = scratchOf(op, *frame.model.getMaxRows());
  Value logits = e.at(frame.scratch, scratch.pairs);
  bool rounded = ir::isRounded(op.getNormed());
  Value normWeight = frame.weight(op.getNorm());
  LinearOperands operands;
  operands.bias = op.getBias();
  Share all{e.constI64(0), e.constI64(shape.units)};
  emitLinearArgs(frame, shape, all, operands, frame.weight(op.getWeight()), Value());
  frame.ownRows(op.getX(), [&](Value row) {
    Value result = frame.rowOf(op.getNormed(), row);
    Value normed = rounded ? e.at(frame.scratch, scratch.outputs) : result;
    emitRmsNormRow(e, frame.rowOf(op.getX(), row), normWeight, normed, ir::featuresOf(op.getX()),
                   op.getEps().convertToDouble());
    if (rounded)
      emitRoundRow(e, op.getNormed(), normed, result);
    Value one = e.constI64(1);
    emitRowPointers(frame, frame.xRows, one, [&](Value) { return normed; });
    emitRowPointers(frame, frame.yRows, one, [&](Value) { return logits; });
    emitLinearCall(frame, op, one);
    emitTopK(e, logits, op.getWeight().getType().getRows(), op.getK(), op.getOverAll(),
             frame.rowOf(op.getExperts(), row), frame.rowOf(op.getWeights(), row));
  });
}

} // namespace inf
