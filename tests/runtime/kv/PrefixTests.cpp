// What is kept, for how long, and what goes first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "runtime/kv/EvictionQueue.h"
#include "runtime/kv/KvCache.h"
#include "runtime/kv/PrefixTree.h"
#include "tests/runtime/kv/KvGroups.h"

using namespace inf;
using namespace inf::test;

namespace {

std::vector<int32_t> counted(uint32_t count, int32_t from) {
  std::vector<int32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), from);
  return tokens;
}

std::vector<int32_t> joined(std::vector<int32_t> a, const std::vector<int32_t> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

KvCacheOptions withPrefixes(uint64_t bytes = 0) {
  KvCacheOptions options;
  options.sequences = 2;
  options.context = 256;
  options.maxRows = 16;
  options.checkpointTokens = 0;
  options.prefixes = true;
  options.bytes = bytes;
  return options;
}

/// Runs what isn't cached of `tokens`, in steps; what was.
uint32_t run(KvCache &kv, uint32_t sequence, const std::vector<int32_t> &tokens) {
  uint32_t cached = kv.attach(sequence, tokens, 0);
  while (kv.position(sequence) < tokens.size()) {
    auto rest = std::span(tokens).subspan(kv.position(sequence));
    uint32_t count = kv.roomFor(sequence, std::min<uint32_t>(16, uint32_t(rest.size())));
    if (count == 0) {
      ADD_FAILURE() << kv.whyNoRoom(sequence, 1);
      return cached;
    }
    kv.extend(sequence, count);
    kv.append(sequence, rest.first(count));
    kv.commit(sequence, kv.position(sequence));
  }
  return cached;
}

uint32_t runAndEnd(KvCache &kv, const std::vector<int32_t> &tokens) {
  uint32_t cached = run(kv, 0, tokens);
  kv.release(0);
  return cached;
}

constexpr uint64_t blockBytes = 16 * 8;
const inf_kv_group full = kvGroup(0, 16), window = kvGroup(20, 16);

} // namespace

TEST(KvPrefixes, theLongestOfManyPrefixesWinsDownToTheToken) {
  KvCache kv({&full, 1}, withPrefixes());
  std::vector<int32_t> common = counted(40, 0);
  for (uint32_t length = 0; length < 40; length += 3)
    runAndEnd(kv, joined({common.begin(), common.begin() + length}, counted(30, 1000 + length)));
  for (uint32_t length : {0, 3, 15, 18, 33, 39}) {
    auto asked = joined({common.begin(), common.begin() + length}, counted(25, 1000 + length));
    asked.push_back(-1);
    EXPECT_EQ(kv.longestPrefix(asked, 0), length + 25);
    EXPECT_EQ(kv.longestPrefix(asked, 1), 0u) << "another tenant's";
  }
}

TEST(KvPrefixes, aHitCopiesOneBlockOfAGroupAtMostAndNoneAtItsEnd) {
  const inf_kv_group groups[] = {full, window};
  KvCache kv(groups, withPrefixes());
  auto tokens = counted(100, 0);
  run(kv, 0, tokens);
  EXPECT_EQ(kv.stats().copiedBlocks, 0u) << "nothing is copied for what nobody shares";
  kv.checkpoint(0);
  run(kv, 1, joined(tokens, counted(10, 500))); // 100 is within the seventh block
  EXPECT_EQ(kv.stats().copiedBlocks, 2u);
  kv.release(1);
  kv.release(0);
  runAndEnd(kv, counted(96, 0)); // its end is a block's
  uint64_t before = kv.stats().copiedBlocks;
  EXPECT_EQ(runAndEnd(kv, joined(counted(96, 0), {7, 7})), 96u);
  EXPECT_EQ(kv.stats().copiedBlocks, before);
}

TEST(KvPrefixes, twoThatComputeTheSameAtOnceEndUpWithOneSetOfBlocks) {
  KvCache kv({&full, 1}, withPrefixes());
  auto tokens = counted(64, 0);
  for (uint32_t begin = 0; begin < 64; begin += 16)
    for (uint32_t s : {0u, 1u}) {
      kv.extend(s, 16);
      kv.append(s, std::span(tokens).subspan(begin, 16));
      kv.commit(s, begin + 16);
    }
  EXPECT_EQ(kv.groupStats(0).held, 4u);
  EXPECT_EQ(kv.heldBlocks(0, 0) + kv.heldBlocks(1, 0), 8u);
}

TEST(KvPrefixes, blocksThatASequenceHoldsAreNeverEvicted) {
  KvCache kv({&full, 1}, withPrefixes(20 * blockBytes));
  run(kv, 0, counted(160, 0)); // ten of twenty blocks
  for (int32_t i = 1; i < 10; ++i) {
    run(kv, 1, counted(150, 1000 * i));
    kv.release(1);
  }
  EXPECT_GT(kv.stats().evictedBlocks, 50u);
  EXPECT_EQ(kv.longestPrefix(counted(161, 0), 0), 160u);
}

TEST(KvPrefixes, aPathIsEvictedFromItsEnd) {
  KvCacheOptions options = withPrefixes(20 * blockBytes);
  options.eviction = EvictionPolicy::Lru;
  KvCache kv({&full, 1}, options);
  runAndEnd(kv, counted(160, 0));
  for (uint32_t blocks = 10; blocks <= 16; ++blocks) {
    runAndEnd(kv, counted(16 * blocks, 5000));
    EXPECT_EQ(kv.longestPrefix(counted(161, 0), 0), 16 * (20 - blocks));
  }
}

TEST(KvPrefixes, positionsWithoutTheirWindowAreNotAttachedTo) {
  const inf_kv_group groups[] = {full, window};
  KvCache kv(groups, withPrefixes());
  runAndEnd(kv, counted(200, 0));
  EXPECT_EQ(kv.longestPrefix(counted(201, 0), 0), 200u);
  EXPECT_EQ(kv.longestPrefix(counted(200, 0), 0), 199u) << "the same prompt again";
  EXPECT_EQ(kv.longestPrefix(joined(counted(150, 0), {-1, -1}), 0), 0u);
}

TEST(KvPrefixes, anEvictedCheckpointTakesItsPositionAndNoOther) {
  const inf_kv_group groups[] = {full, window};
  KvCacheOptions options = withPrefixes((48 + 12) * blockBytes);
  options.eviction = EvictionPolicy::Lru;
  KvCache kv(groups, options);
  uint32_t windowBlocks = kv.groupStats(1).blocks;
  run(kv, 0, counted(50, 0));
  kv.checkpoint(0);
  kv.release(0);
  runAndEnd(kv, counted(120, 0));
  runAndEnd(kv, counted(200, 0));
  auto attachable = [&](uint32_t position) {
    return kv.longestPrefix(joined(counted(position, 0), {-1, -1}), 0) == position;
  };
  ASSERT_TRUE(attachable(50) && attachable(120) && attachable(200));
  // Others use up the window group, which is the scarce one, while 50 and 200 are used.
  for (int32_t i = 1; attachable(120) && i < 100; ++i) {
    run(kv, 1, joined(counted(50, 0), {-1}));
    kv.truncate(1, 0);
    run(kv, 1, joined(counted(200, 0), {-1}));
    kv.truncate(1, 0);
    runAndEnd(kv, counted(20, 1000 * i));
  }
  EXPECT_FALSE(attachable(120)) << windowBlocks;
  EXPECT_TRUE(attachable(50));
  EXPECT_TRUE(attachable(200));
}

TEST(KvPrefixes, aHitWithoutMemoryForTheCopyEndsAtTheBlock) {
  KvCache kv({&full, 1}, withPrefixes(4 * blockBytes));
  run(kv, 0, counted(60, 0)); // all four blocks
  kv.checkpoint(0);
  auto more = joined(counted(60, 0), {-1});
  EXPECT_EQ(kv.longestPrefix(more, 0), 60u);
  EXPECT_EQ(kv.attach(1, more, 0), 48u);
  kv.release(0);
  EXPECT_EQ(kv.roomFor(1, 13), 13u) << "of what the other left";
}

TEST(KvPrefixes, goingBackIntoWhatIsSharedTakesACopyOrIsRefused) {
  for (uint64_t blocks : {4, 5}) {
    KvCache kv({&full, 1}, withPrefixes(blocks * blockBytes));
    run(kv, 0, counted(60, 0));
    kv.checkpoint(0);
    EXPECT_TRUE(kv.canTruncate(0, 48));
    ASSERT_EQ(kv.canTruncate(0, 50), blocks == 5) << "the fourth block is the index's as well";
    if (blocks == 4) {
      EXPECT_THAT(kv.whyNoTruncate(0, 50), testing::HasSubstr("no memory for a copy"));
      continue;
    }
    kv.truncate(0, 50);
    EXPECT_EQ(kv.stats().copiedBlocks, 1u);
    EXPECT_EQ(kv.longestPrefix(counted(61, 0), 0), 60u) << "what was kept is still whole";
  }
}

TEST(KvPrefixes, droppedPrefixesAreGoneButRunningSequencesEnterAgain) {
  const inf_kv_group groups[] = {full, window};
  KvCache kv(groups, withPrefixes());
  run(kv, 0, counted(100, 0));
  kv.dropPrefixes();
  EXPECT_EQ(kv.longestPrefix(counted(101, 0), 0), 0u);
  EXPECT_EQ(kv.stats().cachedBytes, 0u);
  kv.release(0);
  EXPECT_EQ(kv.longestPrefix(counted(101, 0), 0), 100u);
}

TEST(KvPrefixes, collidingKeysCostAComparisonAndNeverAWrongBlock) {
  for (uint32_t bits : {0u, 1u, 3u}) {
    PrefixTree tree(4, 64, {1, 2}, bits);
    PrefixNodeId roots[] = {tree.addRoot(0), tree.addRoot(1)};
    std::vector<PrefixNodeId> nodes;
    for (int32_t i = 0; i < 20; ++i)
      nodes.push_back(tree.addChild(roots[i % 2], counted(4, i / 2)));
    EXPECT_NE(tree.findRoot(0), tree.findRoot(1));
    for (int32_t i = 0; i < 20; ++i)
      EXPECT_EQ(tree.findChild(roots[i % 2], counted(4, i / 2)), nodes[size_t(i)]) << bits;
    EXPECT_EQ(tree.findChild(roots[0], counted(4, 99)), noPrefixNode);
    for (size_t i = 0; i < 20; i += 3)
      tree.remove(nodes[i]);
    for (int32_t i = 0; i < 20; ++i)
      EXPECT_EQ(tree.findChild(roots[i % 2], counted(4, i / 2)),
                i % 3 ? nodes[size_t(i)] : noPrefixNode);
  }
}

TEST(KvEviction, theLeastRecentlyUsedGoesFirst) {
  EvictionQueue queue(EvictionPolicy::Lru, 4);
  for (uint32_t thing : {0, 1, 2, 3}) {
    queue.use(thing);
    queue.offer(thing, 1);
  }
  queue.use(0);
  queue.withdraw(2);
  EXPECT_EQ(queue.victim(), 1u);
  EXPECT_EQ(queue.victim(), 3u);
  EXPECT_EQ(queue.victim(), 0u);
  EXPECT_TRUE(queue.empty());
}

TEST(KvEviction, theLeastOftenUsedGoesFirstThenTheOldest) {
  EvictionQueue queue(EvictionPolicy::Lfu, 3);
  for (uint32_t thing : {0, 0, 1, 2}) {
    queue.use(thing);
    queue.offer(thing, 1);
  }
  EXPECT_EQ(queue.victim(), 1u);
  EXPECT_EQ(queue.victim(), 2u);
  queue.forget(0);
  queue.use(2);
  queue.use(2);
  queue.use(0);
  queue.offer(0, 1);
  queue.offer(2, 1);
  EXPECT_EQ(queue.victim(), 0u) << "its uses were forgotten with it";
}

TEST(KvEviction, whatIsWorthLittleGoesFirstAndWorthAgesAway) {
  EvictionQueue queue(EvictionPolicy::CostAware, 2000);
  queue.use(0);
  queue.offer(0, 10); // as dear as ten of the others, and not used again
  uint32_t outlived = 0;
  for (uint32_t thing = 1; thing < 2000; ++thing) {
    queue.use(thing);
    queue.offer(thing, 1);
    if (queue.victim() == 0)
      break;
    ++outlived;
  }
  EXPECT_GE(outlived, 8u);
  EXPECT_LE(outlived, 11u);
}

TEST(KvEviction, randomVictimsAreTheSameInEveryRun) {
  std::vector<uint32_t> first, second;
  for (std::vector<uint32_t> *order : {&first, &second}) {
    EvictionQueue queue(EvictionPolicy::Random, 100);
    for (uint32_t thing = 0; thing < 100; ++thing)
      queue.offer(thing, 1);
    while (!queue.empty())
      order->push_back(queue.victim());
  }
  EXPECT_EQ(first, second);
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
  std::sort(first.begin(), first.end());
  std::vector<uint32_t> all(100);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(first, all);
}
