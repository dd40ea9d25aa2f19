// Arithmetic on sizes that come from files: an overflow is an error of the input, never a wrap.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/base/Error.h"

namespace inf {

inline uint64_t checkedMultiply(uint64_t a, uint64_t b, std::string_view what) {
  uint64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result))
    fail(ErrorCode::BadInput,
         "{}: {} * {} does not fit 64 bits; expected a size that a file can have, check the shapes",
         what, a, b);
  return result;
}

inline uint64_t checkedAdd(uint64_t a, uint64_t b, std::string_view what) {
  uint64_t result = 0;
  if (__builtin_add_overflow(a, b, &result))
    fail(ErrorCode::BadInput,
         "{}: {} + {} does not fit 64 bits; expected a size that a file can have, check the shapes",
         what, a, b);
  return result;
}

/// The next multiple of `alignment` (a power of two) at or above `value`.
inline uint64_t alignUp(uint64_t value, uint64_t alignment, std::string_view what) {
  return checkedAdd(value, alignment - 1, what) & ~(alignment - 1);
}

/// Whether [offset, offset + bytes) lies in [0, size).
inline bool rangeInside(uint64_t offset, uint64_t bytes, uint64_t size) {
  return offset <= size && bytes <= size - offset;
}

} // namespace inf
