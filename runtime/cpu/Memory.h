// Memory facts, in bytes; nullopt means "not known" (or, for the limit, "none").
#pragma once

#include "runtime/cpu/SystemRoot.h"

#include <cstdint>
#include <optional>

namespace inf {

/// The most memory this process has had resident so far (VmHWM of /proc/self/status). It counts
/// mapped file pages too, so a mapped model.so shows up in it.
std::optional<uint64_t> peakResidentBytes(const SystemRoot &system = {});

/// The address space this process has mapped now (VmSize of /proc/self/status): what `ulimit -v`
/// limits. Memory that was asked for and never used counts, and mapped files.
std::optional<uint64_t> addressSpaceBytes(const SystemRoot &system = {});

/// Memory of the machine (MemTotal of /proc/meminfo).
std::optional<uint64_t> physicalMemoryBytes(const SystemRoot &system = {});

/// Memory that can be had without swapping: MemAvailable of /proc/meminfo (page cache that can be
/// dropped counts), or what the cgroup's limit leaves where that is less.
std::optional<uint64_t> availableMemoryBytes(const SystemRoot &system = {});

/// The tightest cgroup limit that binds this process (Limits::memory).
std::optional<uint64_t> memoryLimitBytes(const SystemRoot &system = {});

} // namespace inf
