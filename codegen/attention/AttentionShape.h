// How attention is cut to the registers: plain numbers, derived from the spec.
#pragma once

#include <vector>

#include "codegen/KernelSpec.h"

namespace inf {

/// Heads first .. first + count - 1, together in registers.
struct HeadRange {
  unsigned first, count;
};

struct AttentionShape {
  explicit AttentionShape(const KernelSpec &spec);

  static constexpr unsigned tileKeys = 16;

  bool halfLine;                ///< head_dim leaves eight dimensions behind the last whole line
  std::vector<HeadRange> heads; ///< near-equal sub-groups; not on AMX tiles
  unsigned tiles;               ///< of a whole step: 1, 2 or 4, all in one block
  unsigned valueLines;          ///< 16 dimensions each, with one accumulator a head; likewise
};

/// Where the state of the heads lies in the frame, in bytes from its aligned start. One float a
/// head stands in lane laneOfHead(head) of a line of sixteen (codegen/attention/HeadFold.h).
struct AttentionFrame {
  explicit AttentionFrame(const AttentionShape &shape, const KernelSpec &spec);

  static constexpr unsigned lineBytes = 64;

  unsigned scoreTileBytes;      ///< [group] lines
  unsigned scores;              ///< z, then p: [tiles][group][16 keys]
  unsigned maximum, alpha;      ///< m' and exp(m - m') of each tile: [tiles] lines
  unsigned runningMaximum, sum; ///< a line each
  unsigned laneSums;            ///< what `sum` is folded from in the end: [group] lines
  unsigned changed;             ///< 0 when every alpha of the step is 1: 32 bits
  unsigned firstLane, lastLane; ///< of a partial tile's keys: 64 bits each
  unsigned toNext;              ///< AMX tiles: bytes from this block to the next: 64 bits
  unsigned query;               ///< bf16 dots: q as the products read it, [group][headDim]
  // Over chunks (codegen/attention/Chunks.h).
  unsigned chunkLast, total;         ///< last key to go to; where A is: 64 bits each
  unsigned totalMaximum, totalSum;   ///< M and S: a line each
  unsigned totalFactor, chunkFactor; ///< b and g: a line each
  unsigned chunkAcc;                 ///< acc of all chunks but the first: [group][headDim]
  unsigned groupValues; ///< AMX tiles: values of a partial group of keys, [16 pairs][headDim][2]
  unsigned bytes;
};

} // namespace inf
