// Loops that read memory and do as little as possible with it.
#pragma once

#include "runtime/cpu/Features.h"

#include <cstddef>
#include <cstdint>

namespace inf {

/// What a loop reads at a time: sizes are multiples of this.
inline constexpr size_t readLoopBytes = 512;

/// Reads `bytes` (a multiple of readLoopBytes) from `begin` (64-byte aligned) once, in the widest
/// registers there are. The result is the exclusive or of all 8-byte words, so that no load can be
/// left out.
using ReadLoop = uint64_t (*)(const uint8_t *begin, size_t bytes);

enum class ReadOrder {
  Lines,           ///< as they come
  LinesPrefetched, ///< asking for the line 4 KiB ahead: the processor's own prefetchers end at a
                   ///< page
  Pages            ///< eight pages side by side, a line of each at a time: a prefetcher on each
};

ReadLoop chooseReadLoop(FeatureSet features, ReadOrder order);

} // namespace inf
