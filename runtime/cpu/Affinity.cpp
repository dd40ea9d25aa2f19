#include "runtime/cpu/Affinity.h"

#include <array>
#include <cerrno>
#include <cstdint>

#include <sched.h>

namespace inf {
namespace {

/// A cpu_set_t of maxCpuCount bits. The CPU_*_S macros take any size; the storage is ours.
struct Mask {
  std::array<cpu_set_t, maxCpuCount / CPU_SETSIZE> sets = {};

  static constexpr size_t bytes = sizeof(sets);
  cpu_set_t *data() { return sets.data(); }
  cpu_set_t &setOf(int cpu) { return sets[static_cast<size_t>(cpu) / CPU_SETSIZE]; }
};
static_assert(Mask::bytes * 8 == maxCpuCount);

} // namespace

std::optional<CpuList> currentAffinity() {
  Mask mask;
  if (sched_getaffinity(0, Mask::bytes, mask.data()) != 0)
    return std::nullopt;
  CpuList cpus;
  for (int cpu = 0; cpu < maxCpuCount; ++cpu)
    if (CPU_ISSET(cpu % CPU_SETSIZE, &mask.setOf(cpu)))
      cpus.push_back(cpu);
  return cpus;
}

int bindThread(int thread, std::span<const int> cpus) {
  Mask mask;
  for (const int cpu : cpus) {
    if (cpu < 0 || cpu >= maxCpuCount)
      return EINVAL;
    CPU_SET(cpu % CPU_SETSIZE, &mask.setOf(cpu));
  }
  return sched_setaffinity(thread, Mask::bytes, mask.data()) == 0 ? 0 : errno;
}

} // namespace inf
