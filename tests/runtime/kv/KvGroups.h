// KV groups of tests: two slots of four bytes a position, so that a block can say what it holds.
#pragma once

#include "runtime/abi/inf_abi.h"

namespace inf::test {

inline inf_kv_group kvGroup(uint32_t window, uint32_t blockTokens) {
  inf_kv_group group = {};
  group.struct_bytes = sizeof group;
  group.block_tokens = blockTokens;
  group.window = window;
  group.slots = 2;
  group.slot_bytes = uint64_t{blockTokens} * sizeof(uint32_t);
  group.block_bytes = group.slots * group.slot_bytes;
  return group;
}

} // namespace inf::test
