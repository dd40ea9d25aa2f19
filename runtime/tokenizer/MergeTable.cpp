#include "runtime/tokenizer/MergeTable.h"

#include <bit>

namespace inf {
namespace {

constexpr uint64_t noPair = ~uint64_t(0); // ids are never negative, so no pair looks like this

uint64_t pairOf(int32_t left, int32_t right) {
  return uint64_t(uint32_t(left)) << 32 | uint32_t(right);
}

} // namespace

void MergeTable::reserve(size_t merges) {
  slots.assign(std::bit_ceil(merges * 2 + 1), Slot{noPair, {}});
}

bool MergeTable::add(int32_t left, int32_t right, Merge merge) {
  Slot &slot = slots[slotOf(pairOf(left, right))];
  if (slot.pair != noPair)
    return false;
  slot = {pairOf(left, right), merge};
  return true;
}

std::optional<Merge> MergeTable::find(int32_t left, int32_t right) const {
  if (slots.empty())
    return std::nullopt;
  const Slot &slot = slots[slotOf(pairOf(left, right))];
  if (slot.pair == noPair)
    return std::nullopt;
  return slot.merge;
}

/// The slot that holds `pair`, or the free one where it belongs.
size_t MergeTable::slotOf(uint64_t pair) const {
  size_t mask = slots.size() - 1;
  // The high half of the product depends on both ids.
  size_t at = size_t((pair ^ pair >> 29) * 0x9E3779B97F4A7C15u >> 32) & mask;
  while (slots[at].pair != noPair && slots[at].pair != pair)
    at = (at + 1) & mask;
  return at;
}

} // namespace inf
