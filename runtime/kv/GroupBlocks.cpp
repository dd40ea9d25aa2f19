#include "runtime/kv/GroupBlocks.h"

#include <algorithm>

namespace inf {
namespace {

uint32_t divideUp(uint64_t a, uint64_t b) { return static_cast<uint32_t>((a + b - 1) / b); }

} // namespace

GroupBlocks::GroupBlocks(const inf_kv_group &group, uint32_t blocks, uint32_t mostPerSequence,
                         uint32_t sequences, uint32_t context, uint32_t slack)
    : pool(group.slots, group.slot_bytes, blocks), windowTokens(group.window),
      tokensPerBlock(group.block_tokens), slackTokens(slack),
      stride(divideUp(context, group.block_tokens)), perSequence(mostPerSequence),
      table(bufferBytes(uint64_t{stride} * sizeof(int32_t), sequences, "KV block table"),
            "KV block table"),
      heldBySequence(sequences) {
  std::fill_n(table.as<int32_t>(), uint64_t{stride} * sequences, -1);
}

uint32_t GroupBlocks::endBlock(uint32_t position) const {
  return divideUp(position, tokensPerBlock);
}

uint32_t GroupBlocks::firstNeeded(uint32_t position) const {
  return windowTokens == 0 || position + 1 <= windowTokens ? 0 : position + 1 - windowTokens;
}

uint32_t GroupBlocks::firstKept(uint32_t position) const {
  uint32_t first = firstNeeded(position);
  return first - std::min(first, slackTokens);
}

uint64_t GroupBlocks::reach(uint32_t sequence, uint32_t position, uint64_t free) const {
  Held held = heldBySequence[sequence];
  if (held.first == held.end)
    held.first = held.end = position / tokensPerBlock;
  uint64_t end = std::min(held.end + free, uint64_t{held.first} + perSequence);
  return std::max<uint64_t>(end * tokensPerBlock, position);
}

uint32_t GroupBlocks::missing(uint32_t sequence, uint32_t position, uint32_t end) const {
  const Held &held = heldBySequence[sequence];
  uint32_t have = held.first == held.end ? position / tokensPerBlock : held.end;
  return endBlock(end) - std::min(endBlock(end), have);
}

void GroupBlocks::extend(uint32_t sequence, uint32_t position, uint32_t end) {
  Held &held = heldBySequence[sequence];
  if (held.first == held.end)
    begin(sequence, position / tokensPerBlock);
  int32_t *entries = row(sequence);
  for (uint32_t newEnd = endBlock(end); held.end < newEnd; ++held.end)
    entries[held.end] = pool.take();
}

void GroupBlocks::release(uint32_t sequence, uint32_t index) {
  int32_t &entry = row(sequence)[index];
  pool.unhold(entry);
  entry = -1;
}

void GroupBlocks::releaseBefore(uint32_t sequence, uint32_t committed) {
  Held &held = heldBySequence[sequence];
  uint32_t first = firstKept(committed) / tokensPerBlock;
  for (; held.first < held.end && held.first < first; ++held.first)
    release(sequence, held.first);
}

bool GroupBlocks::canTruncate(uint32_t sequence, uint32_t position) const {
  uint32_t first = firstNeeded(position);
  return position <= first || heldBySequence[sequence].first <= first / tokensPerBlock;
}

void GroupBlocks::truncate(uint32_t sequence, uint32_t position) {
  Held &held = heldBySequence[sequence];
  uint32_t newEnd = std::max(endBlock(position), held.first);
  for (; held.end > newEnd; --held.end)
    release(sequence, held.end - 1);
  if (position == 0)
    held = {};
}

uint32_t GroupBlocks::heldBlocks(uint32_t sequence) const {
  return heldBySequence[sequence].end - heldBySequence[sequence].first;
}

void GroupBlocks::begin(uint32_t sequence, uint32_t entry) {
  heldBySequence[sequence] = {entry, entry};
}

void GroupBlocks::shareBefore(uint32_t sequence, int32_t block) {
  pool.hold(block);
  row(sequence)[--heldBySequence[sequence].first] = block;
}

bool GroupBlocks::isShared(uint32_t sequence, uint32_t position) const {
  const Held &held = heldBySequence[sequence];
  uint32_t index = position / tokensPerBlock;
  return index >= held.first && index < held.end && pool.shared(row(sequence)[index]);
}

void GroupBlocks::replace(uint32_t sequence, uint32_t index, int32_t block) {
  int32_t &entry = row(sequence)[index];
  pool.hold(block);
  pool.unhold(entry);
  entry = block;
}

void GroupBlocks::makeOwn(uint32_t sequence, uint32_t index) {
  int32_t &entry = row(sequence)[index];
  int32_t own = pool.take();
  pool.copy(entry, own);
  pool.unhold(entry);
  entry = own;
}

inf_kv_view GroupBlocks::view() const {
  return {pool.base(), table.as<int32_t>(), static_cast<int64_t>(stride),
          static_cast<int64_t>(pool.slotStride())};
}

} // namespace inf
