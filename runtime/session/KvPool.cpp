#include "runtime/session/KvPool.h"

#include <algorithm>

#include "runtime/base/Error.h"

namespace inf {
namespace {

uint64_t divideUp(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/// A step of `maxRows` rows sees `window - 1` keys before its first row; the ends of that span need
/// not lie on block boundaries, hence one more.
uint32_t blocksNeeded(const inf_kv_group &group, uint32_t context, uint32_t maxRows) {
  uint64_t whole = divideUp(context, group.block_tokens);
  if (group.window == 0)
    return static_cast<uint32_t>(whole);
  uint64_t span = uint64_t{group.window} + maxRows;
  return static_cast<uint32_t>(std::min(whole, divideUp(span, group.block_tokens) + 1));
}

uint32_t totalBlocks(uint32_t perSequence, uint32_t sequences) {
  uint64_t total = bufferBytes(perSequence, sequences, "KV block table");
  if (total > INT32_MAX)
    fail(ErrorCode::Usage,
         "{} sequences of {} KV blocks are more blocks than a table can name (2147483647). Use a "
         "smaller context or fewer sequences.",
         sequences, perSequence);
  return static_cast<uint32_t>(total);
}

} // namespace

KvPool::KvPool(const inf_kv_group &group, uint32_t sequences, uint32_t context, uint32_t maxRows)
    : windowTokens(group.window), blockTokens(group.block_tokens),
      stride(static_cast<uint32_t>(divideUp(context, group.block_tokens))),
      perSequence(blocksNeeded(group, context, maxRows)),
      blockCount(totalBlocks(perSequence, sequences)),
      blocks(bufferBytes(group.block_bytes, blockCount, "KV cache"), "KV cache"),
      table(bufferBytes(uint64_t{stride} * sizeof(int32_t), sequences, "KV block table"),
            "KV block table"),
      heldBySequence(sequences) {
  std::fill_n(table.as<int32_t>(), uint64_t{stride} * sequences, -1);
  freeList.reserve(blockCount);
  for (uint32_t i = blockCount; i-- > 0;) // block 0 on top: memory is touched from its start
    freeList.push_back(static_cast<int32_t>(i));
}

uint32_t KvPool::endBlock(uint32_t position) const {
  return static_cast<uint32_t>(divideUp(position, blockTokens));
}

uint32_t KvPool::firstVisible(uint32_t position) const {
  return windowTokens == 0 || position + 1 <= windowTokens ? 0 : position + 1 - windowTokens;
}

bool KvPool::canExtend(uint32_t sequence, uint32_t first, uint32_t end) const {
  const Held &held = heldBySequence[sequence];
  uint32_t begin = held.first == held.end ? first / blockTokens : held.first;
  return endBlock(end) - begin <= perSequence;
}

void KvPool::extend(uint32_t sequence, uint32_t first, uint32_t end) {
  Held &held = heldBySequence[sequence];
  if (held.first == held.end)
    held = {first / blockTokens, first / blockTokens};
  int32_t *entries = row(sequence);
  for (uint32_t newEnd = endBlock(end); held.end < newEnd; ++held.end) {
    entries[held.end] = freeList.back();
    freeList.pop_back();
  }
}

void KvPool::release(uint32_t sequence, uint32_t block) {
  int32_t &entry = row(sequence)[block];
  freeList.push_back(entry);
  entry = -1;
}

void KvPool::releaseBefore(uint32_t sequence, uint32_t committed) {
  Held &held = heldBySequence[sequence];
  uint32_t firstKept = firstVisible(committed) / blockTokens;
  for (; held.first < held.end && held.first < firstKept; ++held.first)
    release(sequence, held.first);
}

bool KvPool::canTruncate(uint32_t sequence, uint32_t position) const {
  const Held &held = heldBySequence[sequence];
  uint32_t firstNeeded = firstVisible(position);
  return position <= firstNeeded || held.first <= firstNeeded / blockTokens;
}

void KvPool::truncate(uint32_t sequence, uint32_t position) {
  Held &held = heldBySequence[sequence];
  uint32_t newEnd = std::max(endBlock(position), held.first);
  for (; held.end > newEnd; --held.end)
    release(sequence, held.end - 1);
  if (position == 0)
    held = {};
}

uint32_t KvPool::heldBlocks(uint32_t sequence) const {
  return heldBySequence[sequence].end - heldBySequence[sequence].first;
}

inf_kv_view KvPool::view() const {
  return {blocks.data(), table.as<int32_t>(), static_cast<int64_t>(stride)};
}

} // namespace inf
