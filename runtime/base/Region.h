// Memory taken once from the OS: zeroed, page-aligned, never touched by malloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace inf {

/// An anonymous mapping. Pages cost memory only from their first use, so a table sized for the
/// worst case costs what is used of it. A large one asks for huge pages: a head's keys lie in
/// pieces of a few KB, each in small pages of its own.
class Region {
public:
  Region() = default;
  /// `what` names the buffer in the error: Machine when the OS refuses so many bytes.
  Region(uint64_t bytes, std::string_view what);
  Region(Region &&other) noexcept
      : base(std::exchange(other.base, nullptr)), length(std::exchange(other.length, 0)) {}
  Region &operator=(Region &&other) noexcept {
    std::swap(base, other.base);
    std::swap(length, other.length);
    return *this;
  }
  ~Region();

  uint8_t *data() const { return base; }
  uint64_t bytes() const { return length; }
  template <typename T> T *as() const { return reinterpret_cast<T *>(base); }

private:
  uint8_t *base = nullptr;
  uint64_t length = 0;
};

/// a * b bytes of `what`; fails with Machine when that is beyond any address space.
uint64_t bufferBytes(uint64_t a, uint64_t b, std::string_view what);

} // namespace inf
