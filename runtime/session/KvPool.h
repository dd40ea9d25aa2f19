// The keys and values of one KV group: fixed-size blocks and, per sequence, a table that says which
// block holds which positions.
//
//   table[sequence]:  | -1 | -1 |  7 |  2 |  5 | -1 | -1 |      one entry per block_tokens
//   positions
//                       freed     held: window  free to come
//
// Full groups (window 0) hold every position of the context. Window groups hold what the next query
// can see and drop the rest, so they cost the same at any context.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/abi/inf_abi.h"
#include "runtime/session/Region.h"

namespace inf {

/// All memory is taken at construction; later calls neither allocate nor lock. A sequence never
/// takes more than `blocksPerSequence()` blocks, so sequences can't starve each other.
///
/// Not checked here (the session does): sequence < sequences, positions <= context.
class KvPool {
public:
  KvPool(const inf_kv_group &group, uint32_t sequences, uint32_t context, uint32_t maxRows);

  /// Whether positions [first, end) of a sequence can be given blocks.
  bool canExtend(uint32_t sequence, uint32_t first, uint32_t end) const;
  /// Gives them blocks; those that have one keep it. Requires canExtend.
  void extend(uint32_t sequence, uint32_t first, uint32_t end);
  /// Frees blocks that no query at `committed` or later sees: wholly before
  /// committed - window + 1. Nothing for full groups.
  void releaseBefore(uint32_t sequence, uint32_t committed);
  /// Whether everything a query at `position` sees (of the positions before it) is still held.
  bool canTruncate(uint32_t sequence, uint32_t position) const;
  /// Frees the blocks wholly at or after `position`; 0 frees all and forgets the window.
  void truncate(uint32_t sequence, uint32_t position);

  inf_kv_view view() const;
  uint32_t capacity() const { return blockCount; }
  uint32_t freeBlocks() const { return static_cast<uint32_t>(freeList.size()); }
  uint32_t heldBlocks(uint32_t sequence) const;
  uint32_t blocksPerSequence() const { return perSequence; }
  /// Keys a query sees including itself; 0: all.
  uint32_t window() const { return windowTokens; }

private:
  /// Held entries of a sequence's table: [first, end). Nothing outside is held.
  struct Held {
    uint32_t first = 0, end = 0;
  };
  int32_t *row(uint32_t sequence) const {
    return table.as<int32_t>() + uint64_t{sequence} * stride;
  }
  uint32_t endBlock(uint32_t position) const; ///< ceil(position / block_tokens)
  uint32_t firstVisible(uint32_t position) const;
  void release(uint32_t sequence, uint32_t block);

  uint32_t windowTokens, blockTokens, stride, perSequence, blockCount;
  Region blocks;                    // [blockCount][block_bytes]
  Region table;                     // int32 [sequences][stride]
  std::vector<int32_t> freeList;    // a stack: the block freed last is the warmest
  std::vector<Held> heldBySequence; // [sequences]
};

} // namespace inf
