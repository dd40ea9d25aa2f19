// Work made by several threads and consumed in order, in bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace inf {

/// Calls produce(i, buffer) for i in [0, count) on `threads` threads, in any order, and
/// consume(i, buffer) on the calling thread in the order of i. At most 2 * threads buffers exist,
/// each used again and again (produce sizes it). The first exception of either side stops the rest
/// and is rethrown here, after all threads have ended. `threads` 0 is a Usage error.
void runOrdered(uint64_t count, unsigned threads,
                const std::function<void(uint64_t, std::vector<uint8_t> &)> &produce,
                const std::function<void(uint64_t, const std::vector<uint8_t> &)> &consume);

} // namespace inf
