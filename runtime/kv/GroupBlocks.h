// Of one KV group: its blocks and, per sequence, a table that says which block holds which
// positions.
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
#include "runtime/base/Region.h"
#include "runtime/kv/BlockPool.h"

namespace inf {

/// Not checked here (KvCache does): sequence < sequences, positions <= context, enough free blocks.
class GroupBlocks {
public:
  /// `perSequence`: blocks that a sequence never needs more of (blocksOfSequence()). `slack`:
  /// window groups hold that many positions more than the next query sees, so that the one before
  /// can run again.
  GroupBlocks(const inf_kv_group &group, uint32_t blocks, uint32_t perSequence, uint32_t sequences,
              uint32_t context, uint32_t slack);

  /// How far positions could be given blocks with `free` more: past `position`, at most.
  uint64_t reach(uint32_t sequence, uint32_t position, uint64_t free) const;
  /// Blocks to take before positions [position, end) have one each.
  uint32_t missing(uint32_t sequence, uint32_t position, uint32_t end) const;
  void extend(uint32_t sequence, uint32_t position, uint32_t end);
  /// Gives up blocks that no query at `committed` or later sees. Nothing for full groups.
  void releaseBefore(uint32_t sequence, uint32_t committed);
  /// Whether everything a query at `position` sees (of the positions before it) is still held.
  bool canTruncate(uint32_t sequence, uint32_t position) const;
  /// Gives up the blocks wholly at or after `position`; 0 forgets the window as well.
  void truncate(uint32_t sequence, uint32_t position);

  /// Blocks of the table held by a sequence: [first, end). Nothing outside is held.
  struct Held {
    uint32_t first = 0, end = 0;
  };
  Held held(uint32_t sequence) const { return heldBySequence[sequence]; }
  uint32_t heldBlocks(uint32_t sequence) const;
  int32_t block(uint32_t sequence, uint32_t index) const { return row(sequence)[index]; }
  /// Lets an empty sequence hold [entry, entry) of its table; shareBefore() adds to its front.
  void begin(uint32_t sequence, uint32_t entry);
  /// The entry before the held ones is this block, which somebody else refers to as well.
  void shareBefore(uint32_t sequence, int32_t block);
  /// A held entry becomes this block instead.
  void replace(uint32_t sequence, uint32_t index, int32_t block);
  /// Whether the entry of `position` is held and shared: a write there needs makeOwn() before.
  bool isShared(uint32_t sequence, uint32_t position) const;
  /// A held entry becomes a copy of itself. Requires a free block.
  void makeOwn(uint32_t sequence, uint32_t index);

  uint32_t endBlock(uint32_t position) const;    ///< ceil(position / blockTokens)
  uint32_t firstNeeded(uint32_t position) const; ///< first position a query at `position` sees
  /// First position that is kept for it, the slack included.
  uint32_t firstKept(uint32_t position) const;
  uint32_t window() const { return windowTokens; } ///< keys a query sees with itself; 0: all
  uint32_t blockTokens() const { return tokensPerBlock; }
  uint32_t blocksPerSequence() const { return perSequence; }
  inf_kv_view view() const;

  BlockPool pool;

private:
  int32_t *row(uint32_t sequence) const {
    return table.as<int32_t>() + uint64_t{sequence} * stride;
  }
  void release(uint32_t sequence, uint32_t index);

  uint32_t windowTokens, tokensPerBlock, slackTokens, stride, perSequence;
  Region table;                     // int32 [sequences][stride]
  std::vector<Held> heldBySequence; // [sequences]
};

} // namespace inf
