// Functions of this executable stand before glibc's, so calls from every library, glibc's own
// dependents and a dlopened model.so end here too.
#include "tests/e2e/CallCounters.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

#include <dlfcn.h>
#include <pthread.h>

namespace {
std::atomic<uint64_t> allocations{0}, frees{0}, locks{0};
} // namespace

namespace inf::test {
CallCounts callCounts() { return {allocations, frees, locks}; }
} // namespace inf::test

#ifdef __SANITIZE_ADDRESS__
bool inf::test::callsAreCounted() { return false; }
#else
bool inf::test::callsAreCounted() { return true; }

namespace {

/// glibc's function of that name; looked up at its first call, which is long before any step.
template <typename Function> Function *next(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

} // namespace

extern "C" {
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *memory);

void *malloc(size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes) {
  ++allocations;
  return __libc_realloc(old, bytes);
}
void *memalign(size_t alignment, size_t bytes) {
  ++allocations;
  return __libc_memalign(alignment, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  *memory = memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}
void free(void *memory) {
  ++frees;
  __libc_free(memory);
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
  static auto *real = next<int(pthread_mutex_t *)>("pthread_mutex_lock");
  ++locks;
  return real(mutex);
}
int pthread_mutex_trylock(pthread_mutex_t *mutex) {
  static auto *real = next<int(pthread_mutex_t *)>("pthread_mutex_trylock");
  ++locks;
  return real(mutex);
}
int pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
  static auto *real = next<int(pthread_rwlock_t *)>("pthread_rwlock_rdlock");
  ++locks;
  return real(lock);
}
int pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
  static auto *real = next<int(pthread_rwlock_t *)>("pthread_rwlock_wrlock");
  ++locks;
  return real(lock);
}
}
#endif
