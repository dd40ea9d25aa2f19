// The weights region of a model.so in this process's memory, read-only from then on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/loader/NodePlacement.h"

namespace inf {

/// How weights come into memory.
///   Map   mmap and nothing else: at once, pages come from the page cache on first use, several
///         processes share them and the kernel can drop them. Nothing is read ahead: which experts
///         are needed is known only later. How fast they stream depends on how large the pages are
///         that the kernel happens to have cached.
///   Copy  read into anonymous huge pages first: takes as long as reading the file.
enum class LoadMode { Map, Copy };

/// Where the weights lie: [offset, offset + bytes) of a file of `fileBytes`.
struct WeightPlace {
  std::string path;
  uint64_t offset = 0, bytes = 0, fileBytes = 0;
};

/// A CPU on which a thread reads weights, and the NUMA node it belongs to.
struct CopyCpu {
  int cpu = 0, node = 0;
};

/// Told now and then, from one thread at a time, while weights are copied.
using CopyProgress = std::function<void(uint64_t doneBytes, uint64_t totalBytes)>;

class WeightMemory {
public:
  /// `offset` is a multiple of 4096 and the file must be `fileBytes` long. Fails with Io (open,
  /// mmap, read), BadInput (another size, unaligned offset) or Machine (no memory to copy into, no
  /// address space).
  static WeightMemory map(const WeightPlace &place);
  /// Reads with `threads` threads (>= 1). With `dropCache` the page cache gives up what has been
  /// read, so that both are never held whole.
  static WeightMemory copy(const WeightPlace &place, unsigned threads, bool dropCache,
                           const CopyProgress &progress);
  /// The same, but each run of pages is first touched by threads bound to CPUs of its node, which
  /// is where the kernel then puts it (unless that node is full). One thread for each of `cpus`;
  /// every node of `runs` has one. Fails with Machine when a thread can't be bound.
  static WeightMemory copyToNodes(const WeightPlace &place, std::span<const NodeRun> runs,
                                  std::span<const CopyCpu> cpus, bool dropCache,
                                  const CopyProgress &progress);

  /// `bytes` of zeroed huge pages that `write` fills. Fails with Machine when there is no memory.
  static WeightMemory fill(uint64_t bytes, const std::string &name,
                           const std::function<void(std::span<uint8_t>)> &write);

  WeightMemory() = default; ///< no bytes
  WeightMemory(WeightMemory &&other) noexcept;
  WeightMemory &operator=(WeightMemory &&other) noexcept;
  ~WeightMemory();

  std::span<const uint8_t> bytes() const { return {begin, size}; }

private:
  WeightMemory(void *base, size_t length, uint8_t *first, size_t count);

  void *mapping = nullptr;
  size_t mappingBytes = 0;
  const uint8_t *begin = nullptr; ///< in the mapping
  size_t size = 0;
};

} // namespace inf
