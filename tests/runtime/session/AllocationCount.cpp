// malloc of this executable stands before glibc's, so calls from glibc and libstdc++ end here too.
#include "tests/runtime/session/AllocationCount.h"

#include <atomic>
#include <cstddef>

namespace {
std::atomic<uint64_t> calls{0};
}

namespace inf::test {
uint64_t allocationCount() { return calls.load(); }
} // namespace inf::test

#ifdef __SANITIZE_ADDRESS__
bool inf::test::allocationsAreCounted() { return false; }
#else
bool inf::test::allocationsAreCounted() { return true; }

extern "C" {
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes) {
  ++calls;
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  ++calls;
  return __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes) {
  ++calls;
  return __libc_realloc(old, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  ++calls;
  return __libc_memalign(alignment, bytes);
}
}
#endif
