// How many bytes per second these threads can read here: the roof of decoding, which reads every
// weight once per step.
#pragma once

#include "runtime/cpu/Features.h"
#include "runtime/roof/ReadLoop.h"
#include "runtime/threads/ThreadPool.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace inf {

enum class ReadKind : unsigned {
  Anonymous,      ///< memory of our own, in huge pages where the system gives them
  AnonymousPages, ///< the same, eight pages side by side
  Mapped,         ///< the payload itself, as the model reads it
  MappedPrefetch, ///< the same with software prefetch
  MappedPages     ///< the same, eight pages side by side
};
inline constexpr size_t readKinds = 5;
inline constexpr std::array<std::string_view, readKinds> readKindNames = {
    "anonymous", "anonymous_pages", "mapped", "mapped_prefetch", "mapped_pages"};

using ByteSpans = std::vector<std::span<const uint8_t>>;

class Bandwidth {
public:
  /// Takes memory of four times `cacheBytes` (256 MiB to 2 GiB), each thread writing the part it
  /// will read, and reads as much of `payload` once, or all of it when it is smaller: what is
  /// measured afterwards has its pages. `pool` and `payload` must outlive this.
  /// \throws Error Machine when the system gives no memory.
  Bandwidth(ThreadPool &pool, const ByteSpans &payload, uint64_t cacheBytes, FeatureSet features);
  ~Bandwidth();

  /// Bytes per second of one loop, all threads together, over at least 50 ms; 0 for a payload of
  /// less than 64 KiB a thread.
  double measure(ReadKind kind);

  uint64_t anonymousBytes() const;
  uint64_t mappedBytes() const; ///< of the payload; less than anonymousBytes(): all of it
  /// The mapped bytes fit into the last-level caches: then the loops measure those, as the model
  /// itself is read from there.
  bool mappedFitsCache() const { return mappedBytes() <= cacheSize; }

private:
  class Memory;
  struct Slices; ///< who reads what
  struct Reading;

  double measure(const Slices &slices, ReadOrder order);
  static void readOnThread(void *reading, unsigned thread);

  ThreadPool &pool;
  const FeatureSet features;
  const uint64_t cacheSize;
  std::unique_ptr<Memory> memory;
  std::unique_ptr<Slices> anonymous, mapped;
};

} // namespace inf
