#include "runtime/threads/WaitWord.h"

#include <chrono>
#include <climits>

#include <immintrin.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace inf {
namespace {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) &&
                  std::atomic<uint32_t>::is_always_lock_free,
              "the kernel reads the atomic as a plain 32-bit word");

// Private: the word is never shared with another process, which spares the kernel a page lookup.
// The result is not needed: whatever ended the sleep, the caller looks at the value again.
void futexWait(std::atomic<uint32_t> &word, uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futexWakeAll(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

} // namespace

bool WaitWord::spin(uint32_t seen, SpinPolicy policy) const {
  for (unsigned i = 0; i < policy.pauses; ++i) {
    if (load() != seen)
      return true;
    _mm_pause();
  }
  if (policy.nanosecondsMore == 0)
    return load() != seen;
  // A clock and not a count: one pause takes from about 10 cycles (Haswell) to 140 (Skylake).
  constexpr unsigned pausesPerLook = 32;
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::nanoseconds(policy.nanosecondsMore);
  do {
    for (unsigned i = 0; i < pausesPerLook; ++i) {
      if (load() != seen)
        return true;
      _mm_pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

uint64_t WaitWord::waitWhile(uint32_t seen, SpinPolicy policy) {
  if (spin(seen, policy))
    return 0;
  const auto begin = std::chrono::steady_clock::now();
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  while (value.load(std::memory_order_seq_cst) == seen)
    futexWait(value, seen);
  sleepers.fetch_sub(1, std::memory_order_relaxed);
  const auto slept = std::chrono::steady_clock::now() - begin;
  return static_cast<uint64_t>(std::chrono::nanoseconds(slept).count());
}

void WaitWord::advance() {
  value.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) != 0)
    futexWakeAll(value);
}

void WaitWord::moveTo(uint32_t next) {
  value.store(next, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) != 0)
    futexWakeAll(value);
}

} // namespace inf
