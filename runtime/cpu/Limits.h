// What the administrator, the container or the user lets this process have.
#pragma once

#include "runtime/cpu/SystemRoot.h"

#include <cstdint>
#include <string>
#include <vector>

namespace inf {

enum class LimitState {
  Unknown,   ///< could not be read; `notices` says why
  Unlimited, ///< nothing restricts it
  Limited,
};

template <typename Value> struct Limit {
  LimitState state = LimitState::Unknown;
  Value value = {};   ///< meaningful when Limited
  std::string source; ///< when Limited: the file or call that says so

  bool limited() const { return state == LimitState::Limited; }
};

/// CPU time per wall-clock time: the group is stopped when its threads together have run
/// `quotaMicros` within `periodMicros`.
struct CpuQuota {
  uint64_t quotaMicros = 0, periodMicros = 1;

  double cpus() const {
    return static_cast<double>(quotaMicros) / static_cast<double>(periodMicros);
  }
};

struct Limits {
  Limit<CpuList> affinity; ///< sched_getaffinity
  Limit<CpuList> cpuset;   ///< cgroup v2 cpuset.cpus.effective, v1 cpuset.cpus
  Limit<CpuQuota> quota;   ///< the tightest of our cgroup and its ancestors
  Limit<uint64_t> memory;  ///< bytes; the tightest of our cgroup and its ancestors
  std::vector<std::string> notices;
};

/// Never fails: a file that is garbage, or a cgroup that is not visible, leaves the limit Unknown
/// and adds a notice. A file that a visible cgroup lacks is no limit: the kernel leaves it out
/// where the controller is off, and in the root group. Source: Linux admin-guide/cgroup-v2
/// (cpu.max, memory.max, cpuset.cpus.effective) and cgroup-v1 (cpu.cfs_quota_us,
/// memory.limit_in_bytes, cpuset.cpus).
Limits readLimits(const SystemRoot &system);

} // namespace inf
