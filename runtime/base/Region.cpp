#include "runtime/base/Region.h"

#include <sys/mman.h>

#include <cerrno>

#include "runtime/base/Error.h"

namespace inf {
namespace {

constexpr uint64_t largeBytes = 4 << 20;             ///< two huge pages, so that little is wasted
constexpr uint64_t addressSpace = uint64_t{1} << 47; // user half of 48-bit x86-64

} // namespace

uint64_t bufferBytes(uint64_t a, uint64_t b, std::string_view what) {
  uint64_t bytes;
  if (__builtin_mul_overflow(a, b, &bytes) || bytes > addressSpace)
    fail(ErrorCode::Machine,
         "the {} would take {} x {} bytes, more than a process can address. Use a smaller context "
         "or fewer sequences.",
         what, a, b);
  return bytes;
}

Region::Region(uint64_t bytes, std::string_view what) {
  if (bytes == 0)
    return;
  bufferBytes(bytes, 1, what);
  void *mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    fail(ErrorCode::Machine,
         "cannot get {} bytes for the {}: {}. Use a smaller context or fewer sequences, or raise "
         "the memory limit.",
         bytes, what, errnoText(errno));
  if (bytes >= largeBytes)
    madvise(mapped, bytes, MADV_HUGEPAGE); // advice: small pages do as well
  base = static_cast<uint8_t *>(mapped);
  length = bytes;
}

Region::~Region() {
  if (base)
    munmap(base, length);
}

} // namespace inf
