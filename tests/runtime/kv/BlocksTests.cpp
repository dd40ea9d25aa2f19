// Blocks and tables without shared prefixes: sequences alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "runtime/base/Error.h"
#include "runtime/kv/KvCache.h"
#include "tests/runtime/kv/KvGroups.h"

using namespace inf;
using namespace inf::test;
using testing::HasSubstr;

namespace {

KvCache oneGroup(inf_kv_group group, uint32_t sequences, uint32_t context, uint32_t maxRows) {
  KvCacheOptions options;
  options.sequences = sequences;
  options.context = context;
  options.maxRows = maxRows;
  return KvCache({&group, 1}, options);
}

void grow(KvCache &kv, uint32_t sequence, uint32_t count, bool commits = true) {
  ASSERT_EQ(kv.roomFor(sequence, count), count);
  kv.extend(sequence, count);
  kv.append(sequence, std::vector<int32_t>(count, 7));
  if (commits)
    kv.commit(sequence, kv.position(sequence));
}

int32_t blockOf(const KvCache &kv, uint32_t sequence, uint32_t index) {
  inf_kv_view view = kv.views()[0];
  return view.table[sequence * view.table_stride + index];
}

} // namespace

TEST(KvBlocks, aFullGroupHoldsTheContextAndNoMore) {
  KvCache kv = oneGroup(kvGroup(0, 32), 2, 100, 64);
  EXPECT_EQ(kv.groupStats(0).blocks, 8u);
  EXPECT_EQ(kv.views()[0].table_stride, 4);
  grow(kv, 0, 64);
  grow(kv, 0, 36);
  EXPECT_EQ(kv.heldBlocks(0, 0), 4u) << "full groups keep everything";
  EXPECT_EQ(kv.roomFor(0, 1), 0u) << "the context is full";
  EXPECT_EQ(blockOf(kv, 1, 0), -1);
}

TEST(KvBlocks, aShortContextNeedsFewerBlocksThanItsWindow) {
  EXPECT_EQ(oneGroup(kvGroup(128, 16), 1, 40, 512).groupStats(0).blocks, 3u);
}

TEST(KvBlocks, memoryIsAlignedAndZero) {
  KvCache kv = oneGroup(kvGroup(0, 16), 1, 64, 16);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(kv.views()[0].base) % 64, 0u);
  for (unsigned i = 0; i < 4 * 128; ++i)
    ASSERT_EQ(kv.views()[0].base[i], 0);
}

TEST(KvBlocks, aBlockIsFreedWhenNoLaterQuerySeesIt) {
  KvCache kv = oneGroup(kvGroup(20, 16), 1, 1000, 64);
  grow(kv, 0, 64, false);
  kv.commit(0, 34); // query 34 sees 15..34: position 15 is in block 0
  EXPECT_EQ(kv.heldBlocks(0, 0), 4u);
  kv.commit(0, 35); // sees 16..35
  EXPECT_EQ(kv.heldBlocks(0, 0), 3u);
  EXPECT_EQ(blockOf(kv, 0, 0), -1);
  EXPECT_TRUE(kv.canTruncate(0, 35));
  EXPECT_FALSE(kv.canTruncate(0, 34));
  EXPECT_TRUE(kv.canTruncate(0, 0)) << "forgetting everything is always possible";
}

TEST(KvBlocks, aWindowOfOneNeedsNothingBeforeTheQuery) {
  KvCache kv = oneGroup(kvGroup(1, 16), 1, 100, 16);
  for (uint32_t position = 0; position < 100; ++position) {
    grow(kv, 0, 1, false);
    EXPECT_NE(blockOf(kv, 0, position / 16), -1);
    kv.commit(0, position + 1);
    EXPECT_LE(kv.heldBlocks(0, 0), 1u);
  }
}

TEST(KvBlocks, blocksReservedEarlyAreNotTakenTwiceAndGoBackUnused) {
  KvCache kv = oneGroup(kvGroup(0, 16), 1, 160, 160);
  kv.extend(0, 100);
  EXPECT_EQ(kv.heldBlocks(0, 0), 7u);
  grow(kv, 0, 50);
  EXPECT_EQ(kv.heldBlocks(0, 0), 7u);
  kv.truncate(0, 50);
  EXPECT_EQ(kv.heldBlocks(0, 0), 4u);
}

TEST(KvBlocks, aCacheTooSmallForEverySequenceSaysSoAndServesWhomItCan) {
  inf_kv_group groups[] = {kvGroup(0, 16), kvGroup(20, 16)};
  KvCacheOptions options;
  options.sequences = 4;
  options.context = 320;
  options.maxRows = 16;
  options.bytes = 40 * 16 * 8;
  KvCache kv(groups, options);
  EXPECT_LE(kv.stats().bytes, options.bytes);
  EXPECT_GT(kv.stats().bytes + 2 * 16 * 8, options.bytes) << "no memory is left aside";
  uint32_t full = kv.groupStats(0).blocks, rows = 0;
  EXPECT_GE(full, 20u);
  while (kv.roomFor(rows % 2, 16) == 16)
    grow(kv, rows++ % 2, 16);
  EXPECT_EQ(rows, full) << "of the full group, the scarce one";
  EXPECT_THAT(kv.whyNoRoom(rows % 2, 16), HasSubstr("held by running sequences"));
  kv.release(0);
  EXPECT_EQ(kv.roomFor(1, 16), 16u);
}

TEST(KvBlocks, memoryForLessThanOneStepIsRefusedWithWhatIsNeeded) {
  inf_kv_group groups[] = {kvGroup(0, 16), kvGroup(20, 16)};
  KvCacheOptions options;
  options.context = 320;
  options.maxRows = 32;
  options.bytes = 2 * 16 * 8 + 2 * 16 * 8; // two blocks of each are one step at position 0
  EXPECT_NO_THROW(KvCache(groups, options));
  --options.bytes;
  try {
    KvCache kv(groups, options);
    FAIL() << "not refused";
  } catch (const Error &error) {
    EXPECT_EQ(error.code, ErrorCode::Usage);
    EXPECT_THAT(error.what(), HasSubstr("511 bytes of KV cache"));
    EXPECT_THAT(error.what(), HasSubstr("at least 512"));
  }
}

TEST(KvBlocks, randomLivesNeverShareOrLoseABlock) {
  uint32_t seed = std::random_device()();
  std::mt19937 random(seed);
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  for (uint32_t window : {0u, 1u, 20u, 128u}) {
    constexpr uint32_t sequences = 3, context = 500, maxRows = 40;
    KvCache kv = oneGroup(kvGroup(window, 16), sequences, context, maxRows);
    for (int i = 0; i < 3000; ++i) {
      uint32_t s = random() % sequences, count = random() % maxRows + 1;
      if (kv.position(s) + count > context || random() % 20 == 0) {
        kv.truncate(s, 0);
        continue;
      }
      grow(kv, s, count, false);
      uint32_t before = kv.position(s) - count;
      uint32_t first = window == 0 || before + 1 < window ? 0 : before + 1 - window;
      for (uint32_t p = first; p < kv.position(s); ++p)
        ASSERT_GE(blockOf(kv, s, p / 16), 0) << "position " << p;
      kv.truncate(s, kv.position(s) - random() % (count + 1)); // drafts
      kv.commit(s, kv.position(s));

      std::multiset<int32_t> used;
      for (uint32_t t = 0; t < sequences; ++t)
        for (uint32_t b = 0; b < kv.views()[0].table_stride; ++b)
          if (int32_t block = blockOf(kv, t, b); block >= 0)
            used.insert(block);
      ASSERT_EQ(used.size(), std::set<int32_t>(used.begin(), used.end()).size()) << "shared";
      ASSERT_EQ(used.size(), kv.heldBlocks(0, 0) + kv.heldBlocks(1, 0) + kv.heldBlocks(2, 0));
      ASSERT_EQ(used.size() + kv.groupStats(0).free, kv.groupStats(0).blocks) << "lost";
    }
  }
}
