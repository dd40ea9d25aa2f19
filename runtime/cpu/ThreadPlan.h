// How many threads to run, on which CPUs, and why.
#pragma once

#include "runtime/cpu/Limits.h"
#include "runtime/cpu/Topology.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace inf {

/// More threads than any machine we know of has (2 sockets × 192 cores × 2); a request above it is
/// a mistake, not a machine.
inline constexpr unsigned maxThreads = 1024;

struct ThreadPlan {
  unsigned threads = 1;
  /// The CPUs to use, in order: thread i on cpus[i]. One per physical core first (P-cores before
  /// E-cores, one NUMA node after another), SMT siblings after that. A bind list keeps its own
  /// order. min(threads, allowed) entries: fewer than `threads` means that threads must share CPUs.
  std::vector<int> cpus;
  std::vector<int> nodes; ///< the NUMA node of each of `cpus`
  /// Threads that can make progress at the same time: the allowed CPUs, or the quota if tighter.
  /// With more threads than this, waiting threads should sleep rather than spin.
  unsigned capacity = 1;
  /// Whether to bind threads to `cpus`. Not when a quota is below the allowed CPUs, unless the user
  /// gave a bind list: containers that share a host and its quota would all sit on the same first
  /// cores.
  bool pin = true;
  std::string reason;                ///< one sentence: which limit chose `threads`
  std::vector<std::string> warnings; ///< at most one line about the request, one about bad data
};

/// The default is one thread per physical core that we may use (P-cores alone on a hybrid machine:
/// every barrier waits for the slowest thread), but not more than the CPU quota.
/// \param requested the user's number; obeyed, with one warning when a limit is below it.
/// \param bind the user's CPUs (distinct), empty for none; one thread each unless `requested`.
/// \throws Error Usage for 0 or more than maxThreads threads, and for a bind list that repeats a
/// CPU or names one that we may not use (the message has the allowed set). Call before pinning this
/// thread (ThreadPool does), or its own mask is taken for the limit.
ThreadPlan planThreads(const SystemRoot &system, std::optional<unsigned> requested,
                       std::span<const int> bind = {});

/// The same from facts already read.
ThreadPlan planThreads(const Topology &topology, const Limits &limits,
                       std::optional<unsigned> requested, std::span<const int> bind = {});

} // namespace inf
