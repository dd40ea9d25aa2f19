// Fetching weights into the second level ahead of a walk through them.
//
//   walk       | page | page | ...  a window: line by line
//   fetched    | page | page | ...  the next one: line 0 of each page, then line 1 of each, ...
//
// A software prefetch keeps one of the few buffers of the first level busy until its line has come.
// The second level's own prefetcher has more, but follows one stream a page and stops at its end:
// several pages at a time keep several of its streams ahead. Measured on Emerald Rapids from
// memory, against lines in the walk's own order two pages ahead: one row of mxfp4 1.25 to 1.3 times
// as fast, of int8 and int4 1.1 to 1.2, four rows 1.15 to 1.2; 4 pages and 16 gain less, or the
// same.
#pragma once

#include "codegen/KernelAssembler.h"

namespace inf {

class PageFetch {
public:
  /// Both registers are its own from begin() to the last step().
  PageFetch(KernelAssembler &assembler, const Gpr &positionRegister, const Gpr &addressRegister)
      : a(assembler), position(positionRegister), address(addressRegister) {}

  /// The walk stands at `cursor`.
  void begin(const Gpr &cursor);
  /// The walk goes on by `bytes`, 128 to 1024: asks for one line of each page, so that for 512 all
  /// lines are asked for once. Of a few more bytes a line is left out now and then, which the
  /// second level brings by itself; of fewer, a line is asked for again. Never faults, even behind
  /// the end.
  void step(int bytes);

private:
  static constexpr int pages = 8, pageBytes = 4096;

  KernelAssembler &a;
  const Gpr &position; ///< where the walk will be a window later, divided by `pages`
  const Gpr &address;
};

} // namespace inf
