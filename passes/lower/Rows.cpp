#include "passes/lower/Rows.h"

#include <limits>

#include "passes/lower/KvLayout.h"
#include "passes/lower/Math.h"
#include "runtime/abi/inf_abi.h"

using namespace mlir;

namespace inf {

void emitRmsNormRow(Emit &e, Value x, Value weight, Value out, int64_t features, double eps) {
  int64_t whole = features / 16 * 16;
  Value lanes = e.loop(e.constI64(0), e.constI64(whole), 16, e.like(e.vec(16), 0),
                       [&](Value i, ValueRange sum) {
                         Value v = e.load(e.vec(16), e.at(x, e.mul(i, 4)));
                         return SmallVector<Value>{e.fma(v, v, sum[0])};
                       })[0];
  Value sum = e.loop(e.constI64(whole), e.constI64(features), 1, e.sumLanes(lanes),
                     [&](Value i, ValueRange carried) {
                       Value v = e.load(e.f32(), e.at(x, e.mul(i, 4)));
                       return SmallVector<Value>{e.fma(v, v, carried[0])};
                     })[0];
  Value mean = e.divf(sum, e.like(e.f32(), float(features)));
  Value root = e.b.create<LLVM::SqrtOp>(e.loc, e.f32(), e.addf(mean, e.like(e.f32(), float(eps))));
  Value inverse = e.divf(e.like(e.f32(), 1), root);
  e.elements(features, [&](Value i, int64_t n) {
    Type type = n == 1 ? e.f32() : Type(e.vec(n));
    Value scale = n == 1 ? inverse : e.broadcast(inverse, e.vec(n));
    Value byte = e.mul(i, 4);
    Value scaled = e.mulf(e.load(type, e.at(x, byte)), scale);
    e.store(e.mulf(e.load(type, e.at(weight, byte)), scaled), e.at(out, byte));
  });
}

void emitRopeHead(Emit &e, Value x, Value angles, Value out, int64_t headDim) {
  int64_t half = headDim / 2;
  auto rotate = [&](Value i, int64_t n) {
    Value byte = e.mul(i, 4);
    auto at = [&](Value base, int64_t element) { return e.at(e.at(base, byte), element * 4); };
    Value a = e.load(e.vec(n), at(x, 0)), b = e.load(e.vec(n), at(x, half));
    Value cos = e.load(e.vec(n), at(angles, 0)), sin = e.load(e.vec(n), at(angles, half));
    e.store(e.fma(a, cos, e.negf(e.mulf(b, sin))), at(out, 0));
    e.store(e.fma(b, cos, e.mulf(a, sin)), at(out, half));
  };
  int64_t whole = half / 8 * 8;
  e.loop(e.constI64(0), e.constI64(whole), 8, [&](Value i) { rotate(i, 8); });
  if (half != whole)
    rotate(e.constI64(whole), 4);
}

Value emitAngles(StepFrame &frame, StringRef table, Value row) {
  Emit &e = frame.e;
  int64_t index = 0, headDim = 0;
  for (auto candidate : frame.model.getBody().getOps<ir::RopeTableOp>()) {
    headDim = candidate.getHeadDim();
    if (candidate.getSymName() == table)
      break;
    ++index;
  }
  Value tables = e.load(e.ptr(), frame.step, offsetof(inf_step, rope));
  Value base = e.load(e.ptr(), tables, index * 8);
  return e.at(base, e.mul(row, headDim * 4)); // cos and sin: head_dim floats a row
}

KvPlace emitKvPlace(StepFrame &frame, StringRef group, Value row, Value kvHead) {
  Emit &e = frame.e;
  KvLayout kv = kvLayout(frame.model, group);
  Value position = frame.position(row);
  KvViewValues view = emitKvView(frame, group);
  Value entry = e.div(position, e.constI64(kv.blockTokens));
  Value tableRow = e.at(view.table, e.mul(e.mul(frame.sequence(row), view.tableStride), 4));
  Value block = e.widen(e.load(e.i32(), e.at(tableRow, e.mul(entry, 4))));
  Value inBlock = e.rem(position, e.constI64(kv.blockTokens));
  Value base = e.at(view.base, e.mul(frame.kvSlot, view.slotStride));
  base = e.at(base, e.mul(block, kv.slotBytes));
  base = e.at(base, e.mul(kvHead, kv.headBytes));

  Value tile = e.div(inBlock, e.constI64(INF_KEY_TILE));
  Value lane = e.rem(inBlock, e.constI64(INF_KEY_TILE));
  Value keyElement = e.add(e.mul(tile, kv.headDim * INF_KEY_TILE), e.mul(lane, kv.together));
  Value line = e.mul(e.div(inBlock, e.constI64(kv.together)), kv.headDim * kv.together);
  Value valueElement = e.add(line, e.rem(inBlock, e.constI64(kv.together)));
  return {e.at(base, e.mul(keyElement, kv.elementBytes)),
          e.at(base, e.add(e.mul(valueElement, kv.elementBytes), kv.valueOffset))};
}

void emitStoreKey(StepFrame &frame, StringRef group, Value from, Value to, int64_t headDim) {
  Emit &e = frame.e;
  KvLayout kv = kvLayout(frame.model, group);
  if (kv.isBf16()) // a pair is a dword, and whole
    return e.loop(e.constI64(0), e.constI64(headDim), 2, [&](Value d) {
      Value pair = emitToBf16(e, e.load(e.vec(2), e.at(from, e.mul(d, 4))));
      e.store(pair, e.at(to, e.mul(d, kv.elementBytes * INF_KEY_TILE)));
    });
  e.loop(e.constI64(0), e.constI64(headDim), 1, [&](Value d) {
    Value element = e.load(e.f32(), e.at(from, e.mul(d, 4)));
    e.store(element, e.at(to, e.mul(d, kv.elementBytes * INF_KEY_TILE)));
  });
}

/// The other half of a pair is another row's, which another thread may be writing: each element is
/// stored alone.
static void emitStoreHalvesOfPairs(Emit &e, Value from, Value to, int64_t headDim) {
  constexpr int64_t lanes = 8, pairBytes = 4;
  e.loop(e.constI64(0), e.constI64(headDim), lanes, [&](Value d) {
    Value elements = emitToBf16(e, e.load(e.vec(lanes), e.at(from, e.mul(d, 4))));
    for (int64_t i = 0; i < lanes; ++i)
      e.store(e.b.create<vector::ExtractOp>(e.loc, elements, i),
              e.at(e.at(to, e.mul(d, pairBytes)), i * pairBytes));
  });
}

void emitStoreValue(StepFrame &frame, StringRef group, Value from, Value to, int64_t headDim) {
  Emit &e = frame.e;
  KvLayout kv = kvLayout(frame.model, group);
  if (kv.isBf16())
    return emitStoreHalvesOfPairs(e, from, to, headDim);
  auto store = [&](Value d, int64_t n) {
    e.store(e.load(e.vec(n), e.at(from, e.mul(d, 4))), e.at(to, e.mul(d, kv.elementBytes)));
  };
  int64_t whole = headDim / 16 * 16;
  e.loop(e.constI64(0), e.constI64(whole), 16, [&](Value d) { store(d, 16); });
  if (headDim != whole)
    store(e.constI64(whole), 8);
}

namespace {

/// Index and value of the highest logit; of equals the first. NaN never wins.
SmallVector<Value> emitArgMax(Emit &e, Value logits, int64_t experts) {
  float lowest = -std::numeric_limits<float>::infinity();
  return e.loop(e.constI64(0), e.constI64(experts), 1, {e.constI64(0), e.like(e.f32(), lowest)},
                [&](Value i, ValueRange best) {
                  Value logit = e.load(e.f32(), e.at(logits, e.mul(i, 4)));
                  Value higher =
                      e.b.create<arith::CmpFOp>(e.loc, arith::CmpFPredicate::OGT, logit, best[1]);
                  Value index = e.b.create<arith::SelectOp>(e.loc, higher, i, best[0]);
                  Value value = e.b.create<arith::SelectOp>(e.loc, higher, logit, best[1]);
                  return SmallVector<Value>{index, value};
                });
}

} // namespace

void emitTopK(Emit &e, Value logits, int64_t experts, int64_t k, bool overAll, Value indicesOut,
              Value weightsOut) {
  float lowest = -std::numeric_limits<float>::infinity();
  e.loop(e.constI64(0), e.constI64(k), 1, [&](Value rank) {
    SmallVector<Value> best = emitArgMax(e, logits, experts);
    Value index = e.b.create<arith::TruncIOp>(e.loc, e.i32(), best[0]);
    e.store(index, e.at(indicesOut, e.mul(rank, 4)));
    e.store(best[1], e.at(weightsOut, e.mul(rank, 4)));
    e.store(e.like(e.f32(), lowest), e.at(logits, e.mul(best[0], 4)));
  });
  Value highest = e.load(e.f32(), weightsOut);
  auto expOf = [&](Value at) { return emitExp(e, e.subf(e.load(e.f32(), at), highest)); };
  Value sum = e.loop(e.constI64(0), e.constI64(k), 1, e.like(e.f32(), 0),
                     [&](Value rank, ValueRange carried) {
                       Value at = e.at(weightsOut, e.mul(rank, 4));
                       Value exp = expOf(at);
                       e.store(exp, at);
                       return SmallVector<Value>{e.addf(carried[0], exp)};
                     })[0];
  if (overAll) // the chosen are -inf by now and add nothing
    sum = e.loop(e.constI64(0), e.constI64(experts), 1, sum, [&](Value i, ValueRange carried) {
      return SmallVector<Value>{e.addf(carried[0], expOf(e.at(logits, e.mul(i, 4))))};
    })[0];
  e.loop(e.constI64(0), e.constI64(k), 1, [&](Value rank) {
    Value at = e.at(weightsOut, e.mul(rank, 4));
    e.store(e.divf(e.load(e.f32(), at), sum), at);
  });
}

void emitCopy(Emit &e, Value from, Value to, int64_t elements) {
  e.elements(elements, [&](Value i, int64_t n) {
    Type type = n == 1 ? e.f32() : Type(e.vec(n));
    Value byte = e.mul(i, 4);
    e.store(e.load(type, e.at(from, byte)), e.at(to, byte));
  });
}

} // namespace inf
