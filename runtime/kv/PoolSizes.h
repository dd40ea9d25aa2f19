// How many blocks each KV group gets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/abi/inf_abi.h"
#include "runtime/kv/KvCache.h"

namespace inf {

struct PoolSize {
  uint32_t blocks = 0;
  uint32_t perSequence = 0; ///< what a sequence at its context needs; more it is never given
};

/// Blocks that a sequence of `tokens` tokens holds at most, in steps of `maxRows` of its rows: all
/// of them in full groups, the window and the rows of the step in window groups.
uint32_t blocksOfSequence(const inf_kv_group &group, uint32_t tokens, uint32_t maxRows);

/// [groups]. Without KvCacheOptions::bytes every sequence reaches its context; with it, each group
/// gets what one step needs, and the rest is cut in the proportion in which a sequence of half the
/// context takes blocks (its checkpoints included). Fails with Usage when `bytes` doesn't hold one
/// step, or when there are more blocks than a table can name.
std::vector<PoolSize> poolSizes(std::span<const inf_kv_group> groups,
                                const KvCacheOptions &options);

} // namespace inf
