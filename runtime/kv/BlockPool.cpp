#include "runtime/kv/BlockPool.h"

#include <cstring>

namespace inf {

BlockPool::BlockPool(uint32_t slotCount, uint64_t bytesOfSlot, uint32_t blocks)
    : slots(slotCount), slotBytes(bytesOfSlot),
      memory(bufferBytes(slots * slotBytes, blocks, "KV cache"), "KV cache"), references(blocks) {
  freeList.reserve(blocks);
  for (uint32_t i = blocks; i-- > 0;) // block 0 on top: a slot is touched from its start
    freeList.push_back(static_cast<int32_t>(i));
}

int32_t BlockPool::take() {
  int32_t block = freeList.back();
  freeList.pop_back();
  references[block].sequences = 1;
  return block;
}

void BlockPool::hold(int32_t block) {
  References &count = references[block];
  if (count.sequences++ == 0 && count.index != 0)
    --cached;
}

void BlockPool::unhold(int32_t block) {
  References &count = references[block];
  if (--count.sequences == 0 && count.index != 0)
    ++cached;
  freeIfUnused(block);
}

void BlockPool::keep(int32_t block) {
  References &count = references[block];
  if (count.index++ == 0 && count.sequences == 0)
    ++cached;
}

void BlockPool::unkeep(int32_t block) {
  References &count = references[block];
  if (--count.index == 0 && count.sequences == 0)
    --cached;
  freeIfUnused(block);
}

void BlockPool::freeIfUnused(int32_t block) {
  if (references[block].sequences == 0 && references[block].index == 0)
    freeList.push_back(block);
}

bool BlockPool::shared(int32_t block) const {
  return references[block].sequences + references[block].index > 1;
}

void BlockPool::copy(int32_t from, int32_t to) {
  for (uint64_t slot = 0; slot < slots; ++slot) {
    uint8_t *start = base() + slot * slotStride();
    std::memcpy(start + static_cast<uint64_t>(to) * slotBytes,
                start + static_cast<uint64_t>(from) * slotBytes, slotBytes);
  }
}

} // namespace inf
