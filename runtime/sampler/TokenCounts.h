// How often each token has occurred.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace inf {

/// Counts by id, and the list of those above 0. 12 bytes a token, taken by the constructor.
class TokenCounts {
public:
  /// Ids are 0 to capacity - 1; nothing here checks them.
  explicit TokenCounts(size_t capacity);

  void add(int32_t id);
  void remove(int32_t id); ///< one that was added
  uint32_t count(int32_t id) const { return counts[size_t(id)]; }
  std::span<const int32_t> distinct() const { return present; }

private:
  std::vector<uint32_t> counts; ///< [capacity]
  std::vector<uint32_t> place;  ///< [capacity], in `present`, of ids with a count
  std::vector<int32_t> present; ///< ids with a count, in no order
};

/// The last `window` tokens: a ring. `push` returns the token that leaves, or -1.
class TokenWindow {
public:
  explicit TokenWindow(size_t window) : ring(window) {}

  int32_t push(int32_t id);
  size_t size() const { return held; }
  /// The token `back` places before the newest, 0 being the newest; below size().
  int32_t fromEnd(size_t back) const {
    size_t place = next + ring.size() - 1 - back;
    return ring[place < ring.size() ? place : place - ring.size()];
  }

private:
  std::vector<int32_t> ring; ///< [window]
  size_t next = 0, held = 0;
};

} // namespace inf
