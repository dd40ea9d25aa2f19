#include <gtest/gtest.h>

#include <random>
#include <set>

#include "runtime/session/KvPool.h"

using namespace inf;

namespace {

inf_kv_group group(uint32_t window, uint32_t blockTokens) {
  inf_kv_group g = {};
  g.struct_bytes = sizeof g;
  g.block_tokens = blockTokens;
  g.window = window;
  g.block_bytes = 128;
  return g;
}

int32_t blockOf(const KvPool &pool, uint32_t sequence, uint32_t position, uint32_t blockTokens) {
  inf_kv_view view = pool.view();
  return view.table[sequence * view.table_stride + position / blockTokens];
}

} // namespace

TEST(KvPool, aFullGroupHoldsTheContextAndNoMore) {
  KvPool pool(group(0, 32), 2, 100, 64);
  EXPECT_EQ(pool.capacity(), 8u);
  EXPECT_EQ(pool.view().table_stride, 4);
  pool.extend(0, 0, 100);
  EXPECT_EQ(pool.heldBlocks(0), 4u);
  pool.releaseBefore(0, 100);
  EXPECT_EQ(pool.heldBlocks(0), 4u) << "full groups keep everything";
  EXPECT_EQ(blockOf(pool, 1, 0, 32), -1);
}

TEST(KvPool, aShortContextNeedsFewerBlocksThanItsWindow) {
  KvPool pool(group(128, 16), 1, 40, 512);
  EXPECT_EQ(pool.capacity(), 3u);
}

TEST(KvPool, memoryIsAlignedAndZero) {
  KvPool pool(group(0, 16), 1, 64, 16);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(pool.view().base) % 64, 0u);
  for (unsigned i = 0; i < 4 * 128; ++i)
    ASSERT_EQ(pool.view().base[i], 0);
}

TEST(KvPool, aBlockIsFreedWhenNoLaterQuerySeesIt) {
  KvPool pool(group(20, 16), 1, 1000, 64);
  pool.extend(0, 0, 64);
  pool.releaseBefore(0, 34); // query 34 sees 15..34: position 15 is in block 0
  EXPECT_EQ(pool.heldBlocks(0), 4u);
  pool.releaseBefore(0, 35); // sees 16..35
  EXPECT_EQ(pool.heldBlocks(0), 3u);
  EXPECT_EQ(blockOf(pool, 0, 15, 16), -1);
  EXPECT_TRUE(pool.canTruncate(0, 35));
  EXPECT_FALSE(pool.canTruncate(0, 34));
  EXPECT_TRUE(pool.canTruncate(0, 0)) << "forgetting everything is always possible";
}

TEST(KvPool, aWindowOfOneNeedsNothingBeforeTheQuery) {
  KvPool pool(group(1, 16), 1, 100, 16);
  for (uint32_t position = 0; position < 100; ++position) {
    ASSERT_TRUE(pool.canExtend(0, position, position + 1));
    pool.extend(0, position, position + 1);
    EXPECT_NE(blockOf(pool, 0, position, 16), -1);
    pool.releaseBefore(0, position + 1);
    EXPECT_LE(pool.heldBlocks(0), 1u);
  }
}

TEST(KvPool, randomLivesNeverShareOrLoseABlock) {
  uint32_t seed = std::random_device()();
  std::mt19937 random(seed);
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  for (uint32_t window : {0u, 1u, 20u, 128u}) {
    constexpr uint32_t sequences = 3, context = 500, maxRows = 40;
    KvPool pool(group(window, 16), sequences, context, maxRows);
    uint32_t position[sequences] = {};
    for (int i = 0; i < 3000; ++i) {
      uint32_t s = random() % sequences;
      uint32_t count = random() % maxRows + 1;
      if (position[s] + count > context || random() % 20 == 0) {
        pool.truncate(s, 0);
        position[s] = 0;
        continue;
      }
      ASSERT_TRUE(pool.canExtend(s, position[s], position[s] + count))
          << "committed rows always fit";
      pool.extend(s, position[s], position[s] + count);
      uint32_t first = window == 0 || position[s] + 1 < window ? 0 : position[s] + 1 - window;
      for (uint32_t p = first; p < position[s] + count; ++p)
        ASSERT_GE(blockOf(pool, s, p, 16), 0) << "position " << p;
      uint32_t back = random() % (count + 1); // drafts
      pool.truncate(s, position[s] + count - back);
      position[s] += count - back;
      pool.releaseBefore(s, position[s]);

      std::multiset<int32_t> used;
      uint32_t held = 0;
      for (uint32_t t = 0; t < sequences; ++t) {
        held += pool.heldBlocks(t);
        for (uint32_t b = 0; b < pool.view().table_stride; ++b)
          if (int32_t block = pool.view().table[t * pool.view().table_stride + b]; block >= 0)
            used.insert(block);
      }
      ASSERT_EQ(used.size(), std::set<int32_t>(used.begin(), used.end()).size()) << "shared";
      ASSERT_EQ(used.size(), held);
      ASSERT_EQ(held + pool.freeBlocks(), pool.capacity()) << "lost";
    }
  }
}
