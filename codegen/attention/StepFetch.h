// What a step on tiles fetches ahead: the keys and values of the same step of the next block.
//
//   keys    | page | page |     line 0 of each page, then line 1 of each, ...
//   values  | page | page |
//
// A software prefetch keeps one of the few buffers of the first level busy until its line has come,
// so by themselves they reach no more than these: 61 % of what memory gives on Emerald Rapids. The
// second level's own prefetcher has more, one stream a page; going through all pages at once keeps
// all of its streams ahead: 73 %, and 78 % to the first level, where tiles then load from. (Half of
// the lines, each with its neighbour, 52 %; a page behind the other 62 %; shares of medians.) A
// quarter goes beside scores, half beside the softmax, a quarter beside values.
#pragma once

#include "codegen/attention/AttentionContext.h"

namespace inf {

class StepFetch {
public:
  StepFetch(AttentionContext &attentionContext, unsigned stepTiles)
      : context(attentionContext), bytes(stepTiles * attentionContext.tileBytes()) {}

  /// Before all others: how far away the next block is, into the frame.
  void begin();
  // Part `index` of `count`.
  void besideScores(unsigned index, unsigned count) { emit(0, 1, index, count); }
  void besideSoftmax(unsigned index, unsigned count) { emit(1, 3, index, count); }
  void besideValues(unsigned index, unsigned count) { emit(3, 4, index, count); }

private:
  static constexpr unsigned pageBytes = 4096, lineBytes = AttentionContext::lineBytes;
  static constexpr unsigned quarters = 4;

  void emit(unsigned firstQuarter, unsigned endQuarter, unsigned index, unsigned count);
  unsigned pagesOfEach() const { return (bytes + pageBytes - 1) / pageBytes; }

  AttentionContext &context;
  const unsigned bytes; ///< of keys, and of values
};

} // namespace inf
