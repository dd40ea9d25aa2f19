// Which of the things that may be evicted goes first.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/kv/KvCache.h"

namespace inf {

/// Things are numbers below `capacity`; their use is remembered whether they are offered or not.
/// Allocates nothing after construction; every call is O(log offered).
///
/// CostAware is Greedy-Dual-Size (Cao and Irani, "Cost-Aware WWW Proxy Caching Algorithms", 1997):
/// a thing's rank is its worth (cost to make again per byte) above a level that it had when it was
/// used last; the least rank goes, and the level rises to it. So what is worth little goes early,
/// and what was worth much goes in the end when nobody uses it.
class EvictionQueue {
public:
  EvictionQueue(EvictionPolicy policy, uint32_t capacity);

  /// It is used now (made, or found).
  void use(uint32_t thing);
  /// It may be evicted from now on. `worth` > 0 counts for CostAware. Again: with another worth.
  void offer(uint32_t thing, double worth);
  /// It may not any more; nothing happens when it was not offered.
  void withdraw(uint32_t thing);
  /// It is gone: its uses are forgotten.
  void forget(uint32_t thing);

  bool empty() const { return heap.empty(); }
  /// Takes the one to go out. Requires !empty().
  uint32_t victim();

private:
  struct Thing {
    uint64_t lastUse = 0;
    uint32_t uses = 0;
    int32_t place = -1; ///< in the heap
    double level = 0;   ///< when it was used last
    double worth = 0;
  };
  bool before(uint32_t a, uint32_t b) const;
  void set(size_t place, uint32_t thing);
  void rise(size_t place);
  void sink(size_t place);
  void settle(size_t place);
  uint64_t nextRandom();

  EvictionPolicy policy;
  std::vector<Thing> things;
  std::vector<uint32_t> heap; // a binary heap, the first to go on top
  uint64_t now = 0, randomState = 0;
  double level = 0;
};

} // namespace inf
