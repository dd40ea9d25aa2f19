// Where this process's control groups are mounted, for cgroup v1, v2 and both at once.
#pragma once

#include "runtime/cpu/SystemRoot.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inf {

/// The directories whose files limit us, our own first, each parent after it, the mount point last.
struct CgroupPath {
  int version = 2;
  std::vector<std::string> directories;
  bool exact = true; ///< false: our own directory is not visible, only the mount point is listed
};

struct CgroupMount {
  int version = 2;
  std::string root;        ///< the part of the hierarchy that is mounted ("/" = all)
  std::string point;       ///< where
  std::string controllers; ///< v1: mount options such as "rw,cpu,cpuacct"
};

struct CgroupMembership {
  std::string controllers; ///< v1: "cpu,cpuacct"; empty for v2
  std::string path;        ///< from the root of the hierarchy
};

/// /proc/self/mountinfo and /proc/self/cgroup, parsed (formats: proc(5), cgroups(7)).
struct Cgroups {
  std::vector<CgroupMount> mounts;
  std::vector<CgroupMembership> memberships;

  /// \param controller "cpu", "cpuset" or "memory". On a machine with both versions a controller
  /// belongs to one of them: to v1 if v1 has it mounted.
  /// \returns nullopt when this process's group for it cannot be found.
  std::optional<CgroupPath> find(const SystemRoot &system, std::string_view controller) const;
};

/// Lines it does not understand are left out; an unreadable file leaves its list empty.
Cgroups readCgroups(const SystemRoot &system);

} // namespace inf
