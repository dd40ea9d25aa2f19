#include "runtime/roof/ReadLoop.h"

#include <array>
#include <cstring>

namespace inf {
namespace {

// Vector types of the compiler: each function is built for the registers its target names.
using Words16 = uint64_t __attribute__((vector_size(16), may_alias));
using Words32 = uint64_t __attribute__((vector_size(32), may_alias));
using Words64 = uint64_t __attribute__((vector_size(64), may_alias));

// Latency times bandwidth of one core is about 100 ns * 20 GB/s = 2 KiB; a whole page ahead covers
// that and also takes the step into the next page, where hardware prefetchers start anew.
constexpr uintptr_t ahead = 4096;
constexpr size_t lineBytes = 64;
// Side by side. On Emerald Rapids two read 1.1, four 1.2, eight and sixteen 1.25 times as fast as
// one after the other.
constexpr size_t pages = 8, pageBytes = 4096, windowBytes = pages * pageBytes;
static_assert(readLoopBytes == pages * lineBytes); // a line of each page is one turn of a loop

[[gnu::always_inline]] inline void prefetchFrom(const uint8_t *at) {
  for (size_t line = 0; line < readLoopBytes; line += lineBytes)
    __builtin_prefetch(reinterpret_cast<const void *>(reinterpret_cast<uintptr_t>(at) + ahead +
                                                      line)); // never faults, even behind the end
}

template <typename Words> [[gnu::always_inline]] inline uint64_t fold(const Words &words) {
  std::array<uint64_t, sizeof(Words) / sizeof(uint64_t)> parts;
  std::memcpy(parts.data(), &words, sizeof words);
  uint64_t all = 0;
  for (uint64_t part : parts)
    all ^= part;
  return all;
}

/// The turns of a loop: eight lines each, `distance` apart from `at` on. By pages, only of whole
/// windows: restFrom() on the bytes are to be read by lines.
template <ReadOrder order> class Turns {
public:
  static constexpr bool byPages = order == ReadOrder::Pages;
  static constexpr size_t distance = byPages ? pageBytes : lineBytes;

  [[gnu::always_inline]] Turns(const uint8_t *begin, size_t bytes)
      : at(begin), end(begin + restFrom(bytes)), pageEnd(begin + pageBytes) {}

  static constexpr size_t restFrom(size_t bytes) {
    return byPages ? bytes / windowBytes * windowBytes : bytes;
  }

  [[gnu::always_inline]] bool more() const { return at != end; }
  [[gnu::always_inline]] void next() {
    at += byPages ? lineBytes : readLoopBytes;
    if (byPages && at == pageEnd) {
      at += windowBytes - pageBytes;
      pageEnd += windowBytes;
    }
  }

  const uint8_t *at;

private:
  const uint8_t *const end, *pageEnd;
};

// Four sums: the loads, not a chain of exclusive ors, are to set the pace. The three bodies differ
// in their type alone, but a target's registers are only used by a function of that target.
template <ReadOrder order>
__attribute__((target("avx512f"))) uint64_t readAvx512(const uint8_t *begin, size_t bytes) {
  Words64 sums[4] = {};
  for (Turns<order> turn(begin, bytes); turn.more(); turn.next()) {
    if constexpr (order == ReadOrder::LinesPrefetched)
      prefetchFrom(turn.at);
    for (size_t line = 0; line < 8; ++line)
      sums[line % 4] ^= *reinterpret_cast<const Words64 *>(turn.at + line * turn.distance);
  }
  const uint64_t sum = fold(sums[0] ^ sums[1] ^ sums[2] ^ sums[3]);
  if constexpr (order == ReadOrder::Pages) {
    const size_t read = Turns<order>::restFrom(bytes);
    return sum ^ readAvx512<ReadOrder::Lines>(begin + read, bytes - read);
  }
  return sum;
}

template <ReadOrder order>
__attribute__((target("avx2"))) uint64_t readAvx2(const uint8_t *begin, size_t bytes) {
  Words32 sums[4] = {};
  for (Turns<order> turn(begin, bytes); turn.more(); turn.next()) {
    if constexpr (order == ReadOrder::LinesPrefetched)
      prefetchFrom(turn.at);
    for (size_t line = 0; line < 8; ++line) {
      const auto *words = reinterpret_cast<const Words32 *>(turn.at + line * turn.distance);
      sums[line % 2 * 2] ^= words[0];
      sums[line % 2 * 2 + 1] ^= words[1];
    }
  }
  const uint64_t sum = fold(sums[0] ^ sums[1] ^ sums[2] ^ sums[3]);
  if constexpr (order == ReadOrder::Pages) {
    const size_t read = Turns<order>::restFrom(bytes);
    return sum ^ readAvx2<ReadOrder::Lines>(begin + read, bytes - read);
  }
  return sum;
}

template <ReadOrder order> uint64_t readSse2(const uint8_t *begin, size_t bytes) {
  Words16 sums[4] = {};
  for (Turns<order> turn(begin, bytes); turn.more(); turn.next()) {
    if constexpr (order == ReadOrder::LinesPrefetched)
      prefetchFrom(turn.at);
    for (size_t line = 0; line < 8; ++line) {
      const auto *words = reinterpret_cast<const Words16 *>(turn.at + line * turn.distance);
      for (size_t i = 0; i < 4; ++i)
        sums[i] ^= words[i];
    }
  }
  const uint64_t sum = fold(sums[0] ^ sums[1] ^ sums[2] ^ sums[3]);
  if constexpr (order == ReadOrder::Pages) {
    const size_t read = Turns<order>::restFrom(bytes);
    return sum ^ readSse2<ReadOrder::Lines>(begin + read, bytes - read);
  }
  return sum;
}

using Loops = std::array<ReadLoop, 3>; ///< by order

const Loops &loopsOf(FeatureSet features) {
  static constexpr Loops avx512 = {&readAvx512<ReadOrder::Lines>,
                                   &readAvx512<ReadOrder::LinesPrefetched>,
                                   &readAvx512<ReadOrder::Pages>};
  static constexpr Loops avx2 = {&readAvx2<ReadOrder::Lines>, &readAvx2<ReadOrder::LinesPrefetched>,
                                 &readAvx2<ReadOrder::Pages>};
  static constexpr Loops sse2 = {&readSse2<ReadOrder::Lines>, &readSse2<ReadOrder::LinesPrefetched>,
                                 &readSse2<ReadOrder::Pages>};
  if (features.has(Feature::AVX512F))
    return avx512;
  return features.has(Feature::AVX2) ? avx2 : sse2;
}

} // namespace

ReadLoop chooseReadLoop(FeatureSet features, ReadOrder order) {
  return loopsOf(features)[static_cast<size_t>(order)];
}

} // namespace inf
