// The machine as files: everything this folder reads from the OS goes through here, so that a test
// can describe any machine by a directory.
#pragma once

#include "runtime/cpu/CpuList.h"

#include <optional>
#include <string>

namespace inf {

/// `SystemRoot{}` is the machine we run on.
struct SystemRoot {
  std::string root;                ///< put before every absolute path; "" = the real file system
  std::optional<CpuList> affinity; ///< stands in for sched_getaffinity, ascending

  /// The text of a small file, or nullopt when it is missing, unreadable or over 1 MiB (the largest
  /// we read, /proc/self/mountinfo, takes some tens of KiB on a busy host).
  std::optional<std::string> read(const std::string &path) const;
  bool isDirectory(const std::string &path) const;
  /// The given mask; for the real machine the OS's; nullopt (no restriction known) otherwise.
  std::optional<CpuList> affinityMask() const;
};

} // namespace inf
