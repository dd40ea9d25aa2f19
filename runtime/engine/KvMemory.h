// How much memory keys and values get when nobody said.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "runtime/abi/inf_abi.h"
#include "runtime/kv/KvCache.h"

namespace inf {

/// What all sequences need to reach their context, but not more than half of the memory that is
/// available (nullopt: not known, no bound): the other half is for the weights' pages, which the
/// system counts as available, and for everybody else. Never less than one sequence of one step.
uint64_t defaultKvBytes(std::span<const inf_kv_group> groups, const KvCacheOptions &options,
                        std::optional<uint64_t> available);

} // namespace inf
