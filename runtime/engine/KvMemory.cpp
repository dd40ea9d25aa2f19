#include "runtime/engine/KvMemory.h"

#include <algorithm>

#include "runtime/base/Region.h"
#include "runtime/kv/PoolSizes.h"

namespace inf {

uint64_t defaultKvBytes(std::span<const inf_kv_group> groups, const KvCacheOptions &options,
                        std::optional<uint64_t> available) {
  KvCacheOptions whole = options;
  whole.bytes = 0;
  std::vector<PoolSize> sizes = poolSizes(groups, whole);
  uint64_t all = 0, least = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    all += bufferBytes(sizes[g].blocks, groups[g].block_bytes, "KV cache");
    uint32_t step = std::min(options.context, options.maxRows);
    least += bufferBytes(blocksOfSequence(groups[g], step, options.maxRows), groups[g].block_bytes,
                         "KV cache");
  }
  return std::max(least, std::min(all, available.value_or(UINT64_MAX) / 2));
}

} // namespace inf
