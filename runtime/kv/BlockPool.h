// The blocks of one KV group, and who refers to each: sequences and the index of prefixes. A block
// without references is free.
//
//   memory  | slot 0: block 0, 1, 2, ... | slot 1: block 0, 1, 2, ... | ...     slot: a layer
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/abi/inf_abi.h"
#include "runtime/base/Region.h"

namespace inf {

/// All memory is taken at construction; nothing is checked later but by the callers.
class BlockPool {
public:
  /// Fails with Machine when the OS gives no memory.
  BlockPool(uint32_t slots, uint64_t bytesOfSlot, uint32_t blocks);

  /// A free block, held by one sequence. Requires freeBlocks() > 0.
  int32_t take();
  /// A sequence's reference more or less.
  void hold(int32_t block);
  void unhold(int32_t block);
  /// The index's reference more or less.
  void keep(int32_t block);
  void unkeep(int32_t block);
  /// Whether anybody but one sequence refers to it: then it must not be written.
  bool shared(int32_t block) const;
  void copy(int32_t from, int32_t to);

  uint8_t *base() const { return memory.data(); }
  uint64_t blockBytes() const { return slots * slotBytes; }
  uint64_t slotStride() const { return slotBytes * blocks(); } ///< bytes from slot to slot
  uint32_t blocks() const { return static_cast<uint32_t>(references.size()); }
  uint32_t freeBlocks() const { return static_cast<uint32_t>(freeList.size()); }
  /// Kept by the index, held by no sequence.
  uint32_t cachedBlocks() const { return cached; }
  uint32_t heldBlocks() const { return blocks() - freeBlocks() - cachedBlocks(); }

private:
  struct References {
    uint32_t sequences = 0, index = 0;
  };
  void freeIfUnused(int32_t block);

  uint64_t slots, slotBytes;
  Region memory; // [slots][blocks][slotBytes]
  std::vector<References> references;
  std::vector<int32_t> freeList; // a stack: the block freed last is the warmest
  uint32_t cached = 0;
};

} // namespace inf
