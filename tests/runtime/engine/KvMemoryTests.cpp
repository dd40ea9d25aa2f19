#include <gtest/gtest.h>

#include "runtime/engine/KvMemory.h"

using namespace inf;

namespace {

uint64_t bytesFor(std::optional<uint64_t> available) {
  inf_kv_group group = {};
  group.block_tokens = 8;
  group.block_bytes = 1000;
  KvCacheOptions options;
  options.sequences = 4;
  options.context = 80;
  options.maxRows = 16;
  return defaultKvBytes({&group, 1}, options, available);
}

} // namespace

TEST(DefaultKvBytes, isEnoughForAllWhereThatIsLessThanHalfOfMemory) {
  EXPECT_EQ(bytesFor(std::nullopt), 40000u);
  EXPECT_EQ(bytesFor(1 << 30), 40000u);
}

TEST(DefaultKvBytes, leavesHalfOfMemoryButNeverLessThanAStepNeeds) {
  EXPECT_EQ(bytesFor(50000), 25000u);
  EXPECT_EQ(bytesFor(100), 2000u);
}
