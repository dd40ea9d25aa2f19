// Which logical CPUs there are and how they share cores, packages and memory.
#pragma once

#include "runtime/cpu/SystemRoot.h"

#include <string>
#include <vector>

namespace inf {

enum class CoreKind {
  Performance, ///< every core of a machine with one kind of core
  Efficient,   ///< an E-core of a hybrid machine
};

struct LogicalCpu {
  int id = 0;      ///< the kernel's CPU number
  int core = 0;    ///< the lowest CPU number of its physical core: equal for SMT siblings only
  int package = 0; ///< socket
  int node = 0;    ///< NUMA node
  CoreKind kind = CoreKind::Performance;
};

struct Topology {
  std::vector<LogicalCpu> cpus;     ///< online CPUs by ascending id; never empty
  bool hybrid = false;              ///< both kinds of cores are online
  std::vector<std::string> notices; ///< what could not be read and what we assume instead

  unsigned coreCount() const;              ///< physical cores
  unsigned coreCount(CoreKind kind) const; ///< physical cores of one kind
  unsigned packageCount() const, nodeCount() const;
  CpuList ids() const;
};

/// Reads /sys/devices/system/{cpu,node} and /sys/devices/cpu_{core,atom}. Never fails: what is
/// missing or garbage becomes a notice and the plain assumption (no SMT, one socket, one node).
Topology readTopology(const SystemRoot &system);

} // namespace inf
