// Counts calls of this program that a step must not make, from any of its libraries.
#pragma once

#include <cstdint>

namespace inf::test {

struct CallCounts {
  uint64_t allocations = 0; ///< malloc, calloc, realloc, aligned_alloc, posix_memalign, memalign
  uint64_t frees = 0;
  uint64_t locks = 0; ///< pthread mutexes (std::mutex is one) and reader-writer locks; a condition
                      ///< wait needs a mutex first
};

/// So far, on all threads.
CallCounts callCounts();

/// False under a sanitizer, which stands before these functions itself.
bool callsAreCounted();

} // namespace inf::test
