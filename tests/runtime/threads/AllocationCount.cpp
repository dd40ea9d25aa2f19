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

// The forms with an alignment or nothrow either end up here or are not used by the code under test.
void *operator new(size_t size) { return counted(size); }
void *operator new[](size_t size) { return counted(size); }
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, size_t) noexcept { std::free(memory); }

namespace inf::test {

size_t allocationCount() { return counter().load(std::memory_order_relaxed); }

} // namespace inf::test
