#include "codegen/attention/Chunks.h"

#include <utility>

#include "codegen/attention/HeadFold.h"

namespace inf {
namespace {

constexpr unsigned partialLine = unsigned(attentionPartialLine);

} // namespace

LanesEmitter::Address Chunks::ofHead(unsigned line, unsigned head) const {
  return lineOf(line + laneOfHead(head) * AttentionContext::floatBytes);
}

void Chunks::forEachLine(const Gpr &offset, const auto &body) {
  const unsigned bytes = context.headBytes(), half = bytes % AttentionContext::lineBytes;
  context.a.loopBelow(offset, bytes - half, AttentionContext::lineBytes, [&] { body(false); });
  if (half != 0) // offset is where the loop ended
    body(true);
}

void Chunks::start() {
  KernelAssembler &a = context.a;
  Xbyak::Label toOut;
  a.mov(context.out, context.arg(offsetof(AttentionArgs, partials)));
  a.add(context.out, 2 * partialLine);
  a.cmp(context.arg(offsetof(AttentionArgs, partials)), 0);
  a.jne(toOut);
  a.mov(context.out, context.arg(offsetof(AttentionArgs, out)));
  a.L(toOut);
  a.mov(a.qword[context.frame + context.layout.total], context.out);
}

void Chunks::startChunk() {
  KernelAssembler &a = context.a;
  softmax.start();
  clearAcc();
  const Gpr last = a.takeGeneral("last key of the chunk"), most = a.takeGeneral("last key");
  a.mov(last, context.position);
  a.or_(last, static_cast<int>(attentionChunkKeys - 1));
  a.mov(most, context.arg(offsetof(AttentionArgs, lastKey)));
  a.cmp(last, most);
  a.cmovg(last, most);
  a.mov(a.qword[context.frame + context.layout.chunkLast], last);
}

void Chunks::clearAcc() {
  KernelAssembler &a = context.a;
  const Gpr offset = a.takeGeneral("offset");
  const Lanes16 zero = context.lanes->take("zero");
  context.lanes->setZero(zero);
  const unsigned bytes = context.spec.group * context.headBytes();
  const unsigned half = bytes % AttentionContext::lineBytes;
  a.loopBelow(offset, bytes - half, AttentionContext::lineBytes,
              [&] { context.lanes->store(context.out + offset, zero); });
  if (half != 0) // offset is where the loop ended
    context.lanes->storeHalf(context.out + offset, zero);
}

void Chunks::jumpIfKeysAreLeft(const Xbyak::Label &further) {
  KernelAssembler &a = context.a;
  a.lea(context.out, a.ptr[context.frame + context.layout.chunkAcc]);
  a.cmp(context.position, context.arg(offsetof(AttentionArgs, lastKey)));
  a.jle(further);
}

void Chunks::join() {
  KernelAssembler &a = context.a;
  LanesEmitter &lanes = *context.lanes;
  const AttentionFrame &layout = context.layout;
  Xbyak::Label further, done;
  a.cmp(context.out, a.qword[context.frame + layout.total]);
  a.jne(further);
  for (const auto &[to, from] :
       {std::pair{layout.totalMaximum, layout.runningMaximum}, {layout.totalSum, layout.sum}}) {
    const Lanes16 state = lanes.take("state of the first chunk");
    lanes.load(state, lineOf(from));
    lanes.store(lineOf(to), state);
  }
  a.jmp(done);
  a.L(further);
  joinState();
  joinAcc();
  a.L(done);
}

/// M' = max(M, m);  b = exp(M - M');  g = exp(m - M');  S = fma(S, b, s * g)
void Chunks::joinState() {
  LanesEmitter &lanes = *context.lanes;
  const AttentionFrame &layout = context.layout;
  Lanes16 before = lanes.take("M"), chunk = lanes.take("m");
  lanes.load(before, lineOf(layout.totalMaximum));
  lanes.load(chunk, lineOf(layout.runningMaximum));
  {
    const Lanes16 after = lanes.take("M'");
    lanes.max(after, before, chunk);
    lanes.store(lineOf(layout.totalMaximum), after);
    lanes.subtract(before, before, after);
    lanes.subtract(chunk, chunk, after);
  }
  const Softmax::ExpConstants constants(context);
  const Lanes16 b = softmax.exp(std::move(before), constants);
  const Lanes16 g = softmax.exp(std::move(chunk), constants);
  lanes.store(lineOf(layout.totalFactor), b);
  lanes.store(lineOf(layout.chunkFactor), g);
  const Lanes16 sum = lanes.take("s"), total = lanes.take("S");
  lanes.load(sum, lineOf(layout.sum));
  lanes.multiply(sum, sum, g);
  lanes.load(total, lineOf(layout.totalSum));
  lanes.fma(sum, total, b);
  lanes.store(lineOf(layout.totalSum), sum);
}

/// A = fma(acc, g, A * b)
void Chunks::joinAcc() {
  KernelAssembler &a = context.a;
  LanesEmitter &lanes = *context.lanes;
  const Gpr offset = a.takeGeneral("offset"), rowA = a.takeGeneral("row of A");
  const Lanes16 b = lanes.take("b"), g = lanes.take("g");
  const Lanes16 total = lanes.take("A"), acc = lanes.take("acc");
  a.mov(rowA, a.qword[context.frame + context.layout.total]);
  for (unsigned head = 0; head < context.spec.group; ++head) {
    lanes.broadcast(b, ofHead(context.layout.totalFactor, head));
    lanes.broadcast(g, ofHead(context.layout.chunkFactor, head));
    forEachLine(offset, [&](bool half) {
      const Address ofA = rowA + offset, ofAcc = context.out + offset + head * context.headBytes();
      half ? lanes.loadHalf(total, ofA) : lanes.load(total, ofA);
      half ? lanes.loadHalf(acc, ofAcc) : lanes.load(acc, ofAcc);
      lanes.multiply(total, total, b);
      lanes.fma(total, acc, g);
      half ? lanes.storeHalf(ofA, total) : lanes.store(ofA, total);
    });
    a.add(rowA, context.headBytes());
  }
}

void Chunks::storePartial() {
  KernelAssembler &a = context.a;
  LanesEmitter &lanes = *context.lanes;
  const Gpr partial = a.takeGeneral("partial");
  a.mov(partial, context.arg(offsetof(AttentionArgs, partials)));
  for (const auto &[to, from] :
       {std::pair{0u, context.layout.runningMaximum}, {partialLine, context.layout.sum}}) {
    const Lanes16 state = lanes.take("state of the chunk");
    lanes.load(state, lineOf(from));
    lanes.store(partial + to, state);
  }
}

void Chunks::joinPartials() {
  KernelAssembler &a = context.a;
  LanesEmitter &lanes = *context.lanes;
  const Gpr left = a.takeGeneral("partials left");
  const auto bytes =
      static_cast<unsigned>(attentionPartialBytes(context.spec.headDim, context.spec.group));
  Xbyak::Label top;
  a.mov(left, context.arg(offsetof(AttentionArgs, partialCount)));
  a.L(top);
  for (const auto &[to, from] : {std::pair{context.layout.runningMaximum, 2 * partialLine},
                                 {context.layout.sum, partialLine}}) {
    const Lanes16 state = lanes.take("state of the chunk");
    lanes.load(state, Address(context.out) - from);
    lanes.store(lineOf(to), state);
  }
  join();
  a.add(context.out, bytes);
  a.sub(left, 1);
  a.jg(top);
}

/// r of all heads. Where no head stands M and S are something else's, and so is r.
Lanes16 Chunks::outputFactor() {
  KernelAssembler &a = context.a;
  LanesEmitter &lanes = *context.lanes;
  const AttentionFrame &layout = context.layout;
  if (!context.spec.sinks) {
    Lanes16 r = lanes.take("r");
    const Lanes16 total = lanes.take("S");
    lanes.setConstant(r, 1.0f);
    lanes.load(total, lineOf(layout.totalSum));
    lanes.divide(r, r, total);
    return r;
  }
  Lanes16 before = lanes.take("M"), sink = lanes.take("sinks");
  {
    const Gpr sinks = a.takeGeneral("sinks"), one = a.takeGeneral("sink");
    lanes.setConstant(sink, Softmax::lowestMaximum);
    lanes.store(lineOf(layout.chunkFactor), sink);
    a.mov(sinks, context.arg(offsetof(AttentionArgs, sinks)));
    for (unsigned head = 0; head < context.spec.group; ++head) {
      a.mov(one.cvt32(), a.dword[sinks + head * AttentionContext::floatBytes]);
      a.mov(a.dword[ofHead(layout.chunkFactor, head)], one.cvt32());
    }
    lanes.load(sink, lineOf(layout.chunkFactor));
  }
  lanes.load(before, lineOf(layout.totalMaximum));
  {
    const Lanes16 after = lanes.take("M'");
    lanes.max(after, before, sink); // a NaN sink stays NaN
    lanes.subtract(before, before, after);
    lanes.subtract(sink, sink, after);
  }
  const Softmax::ExpConstants constants(context);
  Lanes16 b = softmax.exp(std::move(before), constants);
  const Lanes16 sum = softmax.exp(std::move(sink), constants);
  const Lanes16 total = lanes.take("S");
  lanes.load(total, lineOf(layout.totalSum));
  lanes.fma(sum, total, b);
  lanes.divide(b, b, sum);
  return b;
}

void Chunks::finish() {
  KernelAssembler &a = context.a;
  LanesEmitter &lanes = *context.lanes;
  {
    const Lanes16 r = outputFactor();
    lanes.store(lineOf(context.layout.totalFactor), r);
  }
  const Gpr offset = a.takeGeneral("offset"), rowA = a.takeGeneral("row of A");
  const Lanes16 r = lanes.take("r"), total = lanes.take("A");
  a.mov(rowA, a.qword[context.frame + context.layout.total]);
  a.mov(context.out, context.arg(offsetof(AttentionArgs, out)));
  for (unsigned head = 0; head < context.spec.group; ++head) {
    lanes.broadcast(r, ofHead(context.layout.totalFactor, head));
    forEachLine(offset, [&](bool half) {
      half ? lanes.loadHalf(total, rowA + offset) : lanes.load(total, rowA + offset);
      lanes.multiply(total, total, r);
      half ? lanes.storeHalf(context.out + offset, total)
           : lanes.store(context.out + offset, total);
    });
    a.add(rowA, context.headBytes());
    a.add(context.out, context.headBytes());
  }
}

} // namespace inf
