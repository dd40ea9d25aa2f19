// A counter that threads wait on: spin for a while, then sleep in the kernel.
#pragma once

#include <atomic>
#include <cstdint>

namespace inf {

/// How long a waiting thread keeps its CPU before it sleeps.
struct SpinPolicy {
  unsigned pauses = 0;          ///< first, this many pause instructions without looking at a clock
  uint64_t nanosecondsMore = 0; ///< then this long, looking at the clock now and then
};

/// An epoch. No lock and no allocation; the system is called only to sleep and to wake sleepers.
///
/// Lost wake-ups: a waiter counts itself in `sleepers` and then lets the kernel compare `value`;
/// advance() changes `value` and then reads `sleepers`. Both in one total order (seq_cst), so
/// either the kernel sees the new value or advance() sees the sleeper.
class WaitWord {
public:
  uint32_t load() const { return value.load(std::memory_order_acquire); }

  /// Returns once the epoch is no longer `seen`; what its advancer wrote before is then visible.
  /// The nanoseconds it slept, 0 when spinning was enough.
  uint64_t waitWhile(uint32_t seen, SpinPolicy policy);

  /// Moves to the next epoch and wakes every waiter.
  void advance();
  /// The same to an epoch of the caller's choice, other than the present one. For a single
  /// advancer.
  void moveTo(uint32_t next);

private:
  bool spin(uint32_t seen, SpinPolicy policy) const;

  std::atomic<uint32_t> value = 0;
  std::atomic<uint32_t> sleepers = 0;
};

} // namespace inf
