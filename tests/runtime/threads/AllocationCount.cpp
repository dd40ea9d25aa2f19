#include "tests/runtime/threads/AllocationCount.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<size_t> &counter() {
  static std::atomic<size_t> count = 0;
  return count;
}

void *counted(size_t size) {
  counter().fetch_add(1, std::memory_order_relaxed);
  if (void *memory = std::malloc(size != 0 ? size : 1))
    return memory;
  throw std::bad_alloc();
}

} // namespace

// The forms with an alignment are not used by the code under test. Those without an exception are
// (by std::stable_sort): AddressSanitizer's own would not go with free.
void *operator new(size_t size) { return counted(size); }
void *operator new[](size_t size) { return counted(size); }
void *operator new(size_t size, const std::nothrow_t &) noexcept {
  counter().fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size != 0 ? size : 1);
}
void *operator new[](size_t size, const std::nothrow_t &) noexcept {
  return operator new(size, std::nothrow);
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, size_t) noexcept { std::free(memory); }

namespace inf::test {

size_t allocationCount() { return counter().load(std::memory_order_relaxed); }

} // namespace inf::test
