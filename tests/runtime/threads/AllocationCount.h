// Counts the allocations of this executable.
#pragma once

#include <cstddef>

namespace inf::test {

/// Calls of operator new by any thread since the program began.
size_t allocationCount();

} // namespace inf::test
