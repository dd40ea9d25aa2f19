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

template <bool prefetch> [[gnu::always_inline]] inline void prefetchFrom(const uint8_t *at) {
  if constexpr (prefetch)
    for (size_t line = 0; line < readLoopBytes; line += 64)
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

// Four sums: the loads, not a chain of exclusive ors, are to set the pace. The three bodies differ
// in their type alone, but a target's registers are only used by a function of that target.
template <bool prefetch>
__attribute__((target("avx512f"))) uint64_t readAvx512(const uint8_t *begin, size_t bytes) {
  Words64 a = {}, b = {}, c = {}, d = {};
  for (const uint8_t *at = begin; at != begin + bytes; at += readLoopBytes) {
    prefetchFrom<prefetch>(at);
    const auto *words = reinterpret_cast<const Words64 *>(at);
    a ^= words[0] ^ words[1];
    b ^= words[2] ^ words[3];
    c ^= words[4] ^ words[5];
    d ^= words[6] ^ words[7];
  }
  a ^= b ^ c ^ d;
  return fold(a);
}

template <bool prefetch>
__attribute__((target("avx2"))) uint64_t readAvx2(const uint8_t *begin, size_t bytes) {
  Words32 a = {}, b = {}, c = {}, d = {};
  for (const uint8_t *at = begin; at != begin + bytes; at += readLoopBytes) {
    prefetchFrom<prefetch>(at);
    const auto *words = reinterpret_cast<const Words32 *>(at);
    for (size_t i = 0; i < readLoopBytes / sizeof(Words32); i += 4) {
      a ^= words[i];
      b ^= words[i + 1];
      c ^= words[i + 2];
      d ^= words[i + 3];
    }
  }
  a ^= b ^ c ^ d;
  return fold(a);
}

template <bool prefetch> uint64_t readSse2(const uint8_t *begin, size_t bytes) {
  Words16 a = {}, b = {}, c = {}, d = {};
  for (const uint8_t *at = begin; at != begin + bytes; at += readLoopBytes) {
    prefetchFrom<prefetch>(at);
    const auto *words = reinterpret_cast<const Words16 *>(at);
    for (size_t i = 0; i < readLoopBytes / sizeof(Words16); i += 4) {
      a ^= words[i];
      b ^= words[i + 1];
      c ^= words[i + 2];
      d ^= words[i + 3];
    }
  }
  a ^= b ^ c ^ d;
  return fold(a);
}

} // namespace

ReadLoop chooseReadLoop(FeatureSet features, bool prefetch) {
  if (features.has(Feature::AVX512F))
    return prefetch ? &readAvx512<true> : &readAvx512<false>;
  if (features.has(Feature::AVX2))
    return prefetch ? &readAvx2<true> : &readAvx2<false>;
  return prefetch ? &readSse2<true> : &readSse2<false>;
}

} // namespace inf
