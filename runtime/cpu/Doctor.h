// Everything this folder finds out about the machine, as one struct and as text for a person.
#pragma once

#include "runtime/cpu/Features.h"
#include "runtime/cpu/Limits.h"
#include "runtime/cpu/ThreadPlan.h"
#include "runtime/cpu/Topology.h"

#include <cstdint>
#include <optional>
#include <string>

namespace inf {

/// Plain fields all the way down, so that a tool can also write them as JSON.
struct DoctorReport {
  CpuFeatures features;
  Topology topology;
  Limits limits;
  ThreadPlan plan;
  std::optional<uint64_t> physicalMemory; ///< bytes
  std::optional<uint64_t> peakResident;   ///< bytes, of this process so far
};

/// \throws Error Usage for a request or bind list that planThreads refuses.
DoctorReport examineMachine(const CpuidSource &cpuid, const SystemRoot &system,
                            std::optional<unsigned> requested = std::nullopt,
                            std::span<const int> bind = {});

/// Several lines, each ended by a newline. Formatting only: the tool prints it.
std::string doctorText(const DoctorReport &report);

} // namespace inf
