// One row of q8 times eight panels side by side, each a stream of its own.
//
//   panel 0   block | block | ...       for each block of 32 columns, for each line of codes:
//   panel 1   block | block | ...         spread the row's columns once, low and high nibbles
//     ...                                 for each panel: decode, one dot product each
//   panel 7   block | block | ...       then each panel's scale
//
// Eight panels share what one panel does for itself: spreading the row, counting, asking for lines
// ahead (none here: eight streams keep eight of the second level's prefetchers busy). Per panel and
// block of mxfp4 that is some 33 instructions against 51, which counts most while another thread
// runs on the same core. Against one panel after the other by pages (PageFetch.h), Emerald Rapids:
// int8 from memory 1.08 times as fast, mxfp4 1.02; stages of a model 1.04 to 1.05.
//
// Vector registers: 8 totals, 8 sums, 4 lines of 2, 2 spread, table, mask: 28 of 32. General
// registers: of x[1] and x[2], rows that this tile has not, panel 4 and three strides.
#pragma once

#include "codegen/DotEmitter.h"
#include "codegen/linear/LinearContext.h"

namespace inf {

class OneRowDots {
public:
  /// To be made where the row and its blocks are pointed at, as for one panel.
  OneRowDots(LinearContext &linearContext, DotEmitter &dotEmitter);

  /// totals[panel][0] += the sums of all blocks, with the bits of one panel after the other.
  void blocks(const Tiles &totals);

private:
  using Address = LanesEmitter::Address;
  using Lines = std::vector<DotEmitter::Line>;
  static constexpr unsigned linesInFlight = 4;

  void block(const Tiles &totals);
  void addLines(const DotEmitter::RowSums &sums, const Lines &lines);
  void scale(const Tiles &totals, const DotEmitter::RowSums &sums, const Lines &lines);
  void addMinimums(const Tiles &totals, const Lines &lines);
  void advance();

  Address panelAt(unsigned panel) const;
  Address scalesOf(unsigned panel) const { return panelAt(panel) + blockCodeBytes(format); }
  Address ofBlock(size_t field) const { return row + blockOffset + static_cast<int>(field); }

  LinearContext &context;
  DotEmitter &dots;
  KernelAssembler &a;
  const WeightFormat format;
  const int blockBytes = static_cast<int>(weightBytes(format, panelRows *blockColumns));
  const Gpr &row, &stride, &blockOffset;
  const Gpr &panel4, &stride3; ///< where panel 4 is when the cursor is in panel 0
  VectorRegister low, high;    ///< four columns of the row, spread: of low and high nibbles
};

} // namespace inf
