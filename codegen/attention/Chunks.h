// From the chunks of a row to its output (codegen/KernelArgs.h, AttentionArgs, steps 2 and 3).
//
//   registers and frame while a chunk is gone through:  m, sum of the heads; acc at [out]
//   of the chunks before it:                            M, S in the frame; A at [frame.total]
//
// The first chunk's acc lies where A will: in the caller's `out`, or, of partials, in the first of
// them. So a row of one chunk is joined with nothing and copied nowhere. Later chunks of a call
// have their acc in the frame.
#pragma once

#include "codegen/attention/AttentionContext.h"
#include "codegen/attention/Softmax.h"

namespace inf {

class Chunks {
public:
  Chunks(AttentionContext &attentionContext, Softmax &softmaxOfHeads)
      : context(attentionContext), softmax(softmaxOfHeads) {}

  /// Points [out] and A to where the first chunk's acc goes.
  void start();
  /// m = -1e30, sum = 0, acc = 0 for the chunk that `position` is in; notes its last key.
  void startChunk();
  /// Jumps to `further` with [out] pointing to the frame when keys are left behind the chunk.
  void jumpIfKeysAreLeft(const Xbyak::Label &further);

  /// The chunk at hand becomes M, S, A when it is the first, else joins them.
  void join();
  /// m and sum behind which acc is already.
  void storePartial();
  /// Joins the caller's partials, the first included.
  void joinPartials();
  /// out = A * r
  void finish();

private:
  using Address = AttentionContext::Address;

  void clearAcc();
  void joinState();
  void joinAcc();
  Lanes16 outputFactor();
  /// body(offset, half) for the dimensions of a head: lines, then the half one.
  void forEachLine(const Gpr &offset, const auto &body);
  Address lineOf(unsigned at) const { return context.frame + at; }
  Address ofHead(unsigned line, unsigned head) const;

  AttentionContext &context;
  Softmax &softmax;
};

} // namespace inf
