// Which two neighbouring tokens merge into one, and which merge comes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace inf {

struct Merge {
  uint32_t rank; ///< lower merges first
  int32_t id;    ///< the token made
};

class MergeTable {
public:
  /// Sizes the table for `merges` entries; call once, before the first add.
  void reserve(size_t merges);
  /// False when the pair is there already.
  bool add(int32_t left, int32_t right, Merge merge);
  std::optional<Merge> find(int32_t left, int32_t right) const;

private:
  struct Slot {
    uint64_t pair; ///< left in the high half, right in the low half
    Merge merge;
  };

  size_t slotOf(uint64_t pair) const;

  std::vector<Slot> slots; ///< open addressing, at most half full; a power of two
};

} // namespace inf
