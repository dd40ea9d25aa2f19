// The weights region of a model.so, mapped read-only: loading is mmap and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace inf {

/// Pages come from the page cache on first use and stay clean, so several processes share them and
/// the kernel can drop them. Nothing is read ahead: which experts are needed is known only later.
class MappedWeights {
public:
  /// Maps [offset, offset + bytes) of the file; `offset` is a multiple of 4096 and the file must be
  /// `fileBytes` long. Fails with Io (open, mmap) or BadInput (another size, unaligned offset).
  MappedWeights(const std::string &path, uint64_t offset, uint64_t bytes, uint64_t fileBytes);
  ~MappedWeights();
  MappedWeights(const MappedWeights &) = delete;
  MappedWeights &operator=(const MappedWeights &) = delete;

  std::span<const uint8_t> bytes() const { return {static_cast<const uint8_t *>(base), length}; }

private:
  void *base = nullptr;
  size_t length = 0;
};

} // namespace inf
