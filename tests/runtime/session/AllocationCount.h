// Counts every allocation of this process, by whatever library.
#pragma once

#include <cstdint>

namespace inf::test {

/// Calls of malloc and its relatives (operator new ends there too) so far, on all threads.
uint64_t allocationCount();
/// False where a sanitizer owns malloc.
bool allocationsAreCounted();

} // namespace inf::test
