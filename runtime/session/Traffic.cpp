#include "runtime/session/Traffic.h"

#include <algorithm>

#include <xxhash.h>

namespace inf {

uint64_t kvBytesRead(const inf_model &model, uint64_t position) {
  uint64_t total = 0;
  for (uint32_t g = 0; g < model.kv_groups; ++g) {
    const inf_kv_group &group = model.kv_group[g];
    uint64_t keys = position + 1;
    if (group.window != 0)
      keys = std::min<uint64_t>(keys, group.window);
    uint64_t element = group.element == INF_ELEMENT_F32 ? 4 : 2;
    total += keys * group.slots * group.kv_heads * group.head_dim * element * 2;
  }
  return total;
}

uint64_t bytesPerGeneratedToken(const Model &model, uint64_t position) {
  return model.manifest().bytesPerToken + kvBytesRead(model.code(), position);
}

uint64_t logitsHash(std::span<const float> logits) {
  return XXH3_64bits(logits.data(), logits.size_bytes());
}

} // namespace inf
