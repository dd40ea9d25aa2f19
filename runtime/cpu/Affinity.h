// The CPUs a thread may run on, for machines of any size (cpu_set_t alone stops at 1024).
#pragma once

#include "runtime/cpu/CpuList.h"

#include <optional>
#include <span>

namespace inf {

/// Where the calling thread may run (sched_getaffinity); nullopt when the OS does not say.
std::optional<CpuList> currentAffinity();

/// Binds one thread of this process to `cpus` (any order).
/// \param thread its kernel id, 0 for the calling thread.
/// \returns 0, or errno (EINVAL: none of these CPUs is allowed here).
int bindThread(int thread, std::span<const int> cpus);

} // namespace inf
