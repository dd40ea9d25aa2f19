// Stages in which a thread takes whole rows.
#include <limits>

#include "passes/lower/Math.h"
#include "passes/lower/Quantize.h"
#include "passes/lower/Rows.h"
#include "passes/lower/Stages.h"
#include "runtime/abi/WeightFormats.h"
#include "runtime/abi/inf_abi.h"

using namespace mlir;

namespace inf {

namespace {

/// A row of a table to f32.
void emitTableRow(Emit &e, ir::Format format, Value from, Value to, int64_t features) {
  if (ir::isBlockFormat(format)) {
    int64_t blockBytes = int64_t(weightBytes(static_cast<WeightFormat>(format), blockColumns));
    e.loop(e.constI64(0), e.constI64(features / ir::q8Block), 1, [&](Value i) {
      emitDequantizeBlock(e, format, e.at(from, e.mul(i, blockBytes)),
                          e.at(to, e.mul(i, ir::q8Block * 4)));
    });
    return;
  }
  int64_t elementBytes = format == ir::Format::F32 ? 4 : 2;
  e.elements(features, [&](Value i, int64_t n) {
    Value value = emitLoadAsF32(e, format, e.at(from, e.mul(i, elementBytes)), n);
    e.store(value, e.at(to, e.mul(i, 4)));
  });
}

} // namespace

void lower(StepFrame &frame, ir::EmbeddingOp op) {
  Emit &e = frame.e;
  int64_t features = ir::featuresOf(op.getResult());
  ir::Format format = frame.formatOf(op.getWeight());
  auto tableRowBytes = int64_t(weightBytes(static_cast<WeightFormat>(format), uint64_t(features)));
  Value table = frame.weight(op.getWeight());
  frame.ownRows(op.getResult(), [&](Value row) {
    Value token = frame.rowField(row, offsetof(inf_row, token));
    emitTableRow(e, format, e.at(table, e.mul(token, tableRowBytes)),
                 frame.rowOf(op.getResult(), row), features);
  });
}

void lower(StepFrame &frame, ir::RmsNormOp op) {
  Emit &e = frame.e;
  Value weight = frame.weight(op.getWeight());
  int64_t features = ir::featuresOf(op.getX()), heads = int64_t(op.getHeads());
  bool rounded = ir::isRounded(op.getResult());
  Value normed = e.at(frame.scratch, scratchOf(op, *frame.model.getMaxRows()).outputs);
  frame.ownRows(op.getResult(), [&](Value row) {
    Value x = frame.rowOf(op.getX(), row), result = frame.rowOf(op.getResult(), row);
    e.loop(e.constI64(0), e.constI64(heads), 1, [&](Value head) {
      Value byte = e.mul(head, features / heads * 4);
      emitRmsNormRow(e, e.at(x, byte), weight, rounded ? normed : e.at(result, byte),
                     features / heads, op.getEps().convertToDouble());
    });
    if (rounded) // of one part
      emitRoundRow(e, op.getResult(), normed, result);
  });
}

void lower(StepFrame &frame, ir::SliceOp op) {
  frame.ownRows(op.getResult(), [&](Value row) {
    Value from = frame.e.at(frame.rowOf(op.getX(), row), int64_t(op.getBegin()) * 4);
    emitCopy(frame.e, from, frame.rowOf(op.getResult(), row), ir::featuresOf(op.getResult()));
  });
}

void lower(StepFrame &frame, ir::RopeOp op) {
  Emit &e = frame.e;
  int64_t headDim = op.getHeadDim(), heads = op.getHeads();
  frame.ownRows(op.getResult(), [&](Value row) {
    Value angles = emitAngles(frame, op.getTable(), row);
    Value from = frame.rowOf(op.getX(), row), to = frame.rowOf(op.getResult(), row);
    e.loop(e.constI64(0), e.constI64(heads), 1, [&](Value head) {
      Value byte = e.mul(head, headDim * 4);
      emitRopeHead(e, e.at(from, byte), angles, e.at(to, byte), headDim);
    });
  });
}

void lower(StepFrame &frame, ir::KvAppendOp op) {
  Emit &e = frame.e;
  auto group = frame.model.lookupSymbol<ir::KvGroupOp>(op.getGroupAttr());
  int64_t headDim = group.getHeadDim(), heads = group.getKvHeads();
  frame.ownRows(op.getK(), [&](Value row) {
    Value k = frame.rowOf(op.getK(), row), v = frame.rowOf(op.getV(), row);
    e.loop(e.constI64(0), e.constI64(heads), 1, [&](Value head) {
      KvPlace place = emitKvPlace(frame, op.getGroup(), row, head);
      Value byte = e.mul(head, headDim * 4);
      emitStoreKey(frame, op.getGroup(), e.at(k, byte), place.key, headDim);
      emitStoreValue(frame, op.getGroup(), e.at(v, byte), place.value, headDim);
    });
  });
}

void lower(StepFrame &frame, ir::RouterTopKOp op) {
  frame.ownRows(op.getLogits(), [&](Value row) {
    emitTopK(frame.e, frame.rowOf(op.getLogits(), row), ir::featuresOf(op.getLogits()), op.getK(),
             op.getOverAll(), frame.rowOf(op.getExperts(), row), frame.rowOf(op.getWeights(), row));
  });
}

void lower(StepFrame &frame, ir::SwigluOp op) {
  Emit &e = frame.e;
  int64_t features = ir::featuresOf(op.getResult());
  frame.ownRows(op.getResult(), [&](Value row) {
    Value from = frame.rowOf(op.getX(), row), to = frame.rowOf(op.getResult(), row);
    e.elements(features, [&](Value i, int64_t n) {
      Type type = n == 1 ? e.f32() : Type(e.vec(n));
      Value at = e.at(from, e.mul(i, 4));
      Value gate = e.load(type, at), up = e.load(type, at, features * 4);
      e.store(emitActivation(e, op.getActivationAttr(), gate, up), e.at(to, e.mul(i, 4)));
    });
  });
}

void lower(StepFrame &frame, ir::QuantizeActivationOp op) {
  Emit &e = frame.e;
  int64_t vectors = rowBytes(op.getX()) / vectorBytes(op.getX());
  frame.ownRows(op.getX(), [&](Value row) {
    Value from = frame.rowOf(op.getX(), row), to = frame.rowOf(op.getResult(), row);
    e.loop(e.constI64(0), e.constI64(vectors), 1, [&](Value i) {
      emitRoundRow(e, op.getResult(), e.at(from, e.mul(i, vectorBytes(op.getX()))),
                   e.at(to, e.mul(i, vectorBytes(op.getResult()))));
    });
  });
}

void lower(StepFrame &frame, ir::AddOp op) {
  Emit &e = frame.e;
  frame.ownRows(op.getResult(), [&](Value row) {
    Value lhs = frame.rowOf(op.getLhs(), row), rhs = frame.rowOf(op.getRhs(), row);
    Value to = frame.rowOf(op.getResult(), row);
    e.elements(ir::featuresOf(op.getResult()), [&](Value i, int64_t n) {
      Type type = n == 1 ? e.f32() : Type(e.vec(n));
      Value byte = e.mul(i, 4);
      Value sum = e.addf(e.load(type, e.at(lhs, byte)), e.load(type, e.at(rhs, byte)));
      e.store(sum, e.at(to, byte));
    });
  });
}

void lower(StepFrame &frame, ir::OutputRowsOp op) {
  Emit &e = frame.e;
  Value indices = e.load(e.ptr(), frame.step, offsetof(inf_step, output_row));
  frame.ownRows(op.getResult(), [&](Value row) {
    Value from = e.widen(e.load(e.i32(), e.at(indices, e.mul(row, 4))));
    emitCopy(e, frame.rowOf(op.getX(), from), frame.rowOf(op.getResult(), row),
             ir::featuresOf(op.getX()));
  });
}

} // namespace inf
