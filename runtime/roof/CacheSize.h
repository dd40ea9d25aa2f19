// How large the caches are that a measurement of memory must not fit into.
#pragma once

#include "runtime/cpu/SystemRoot.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace inf {

/// Bytes of all caches of the last level together (a machine with several L3 has their sum), from
/// /sys/devices/system/cpu/cpu*/cache; nullopt when the system does not say.
std::optional<uint64_t> lastLevelCacheBytes(const SystemRoot &system = {});

/// "32768K" as the kernel writes it, in bytes; nullopt for anything else.
std::optional<uint64_t> parseCacheSize(std::string_view text);

} // namespace inf
