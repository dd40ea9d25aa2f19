// Random lives of many sequences, in every shape of cache.
// Repeat one: KV_SEED=<seed> kv_tests --gtest_filter='*KvProperties*'
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "tests/runtime/kv/KvGroups.h"
#include "tests/runtime/kv/KvModel.h"

using namespace inf;
using namespace inf::test;

namespace {

struct Shape {
  const char *name;
  std::vector<inf_kv_group> groups;
  uint32_t context;
};

const std::vector<Shape> shapes = {
    {"full", {kvGroup(0, 16)}, 200},
    {"fullInOneBlock", {kvGroup(0, 64)}, 64},
    {"fullAndWindowOfNoWholeBlocks", {kvGroup(0, 16), kvGroup(20, 16)}, 250},
    {"blocksOfTwoSizes", {kvGroup(0, 32), kvGroup(20, 16), kvGroup(33, 48)}, 300},
    {"asGptOss", {kvGroup(0, 64), kvGroup(128, 64)}, 500},
    {"windowsOfOneAndOfABlock", {kvGroup(0, 16), kvGroup(1, 16), kvGroup(16, 16)}, 200},
    {"windowOfOne", {kvGroup(0, 16), kvGroup(1, 32)}, 200},
    {"contextWithinTheWindow", {kvGroup(0, 16), kvGroup(128, 16)}, 100},
    {"onlyAWindow", {kvGroup(20, 16)}, 250},
};

struct Case {
  Shape shape;
  EvictionPolicy policy;
  uint32_t tightness; ///< 0: memory for all that is ever kept
};

std::string nameOf(const testing::TestParamInfo<Case> &info) {
  static const char *policies[] = {"CostAware", "Lru", "Lfu", "Random"};
  return std::string(info.param.shape.name) + policies[int(info.param.policy)] +
         std::to_string(info.param.tightness);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Shape &shape : shapes) {
    all.push_back({shape, EvictionPolicy::CostAware, 0});
    for (EvictionPolicy policy : {EvictionPolicy::CostAware, EvictionPolicy::Lru,
                                  EvictionPolicy::Lfu, EvictionPolicy::Random})
      for (uint32_t tightness : {1, 3})
        all.push_back({shape, policy, tightness});
  }
  return all;
}

KvCacheOptions optionsOf(const Case &c, std::mt19937 &random) {
  KvCacheOptions options;
  options.prefixes = true;
  options.sequences = 1 + random() % 6;
  options.context = c.shape.context;
  options.maxRows = 1 + random() % 40;
  options.checkpointTokens = random() % 3 * 40;
  options.eviction = c.policy;
  options.keyBits = random() % 2 ? 128 : random() % 5; // collisions all the time
  uint64_t step = 0;
  for (const inf_kv_group &group : c.shape.groups)
    step += uint64_t{c.shape.context / group.block_tokens + 2} * group.block_bytes;
  options.bytes = c.tightness == 0 ? 200 * step : step * c.tightness / 2 * options.sequences;
  options.bytes = std::max(options.bytes, 2 * step);
  return options;
}

class KvProperties : public testing::TestWithParam<Case> {};

} // namespace

INSTANTIATE_TEST_SUITE_P(Shapes, KvProperties, testing::ValuesIn(cases()), nameOf);

TEST_P(KvProperties, everySequenceFindsItsOwnKeysAndNoBlockIsLost) {
  const char *given = std::getenv("KV_SEED");
  uint32_t seed = given ? static_cast<uint32_t>(std::atoll(given)) : std::random_device()();
  SCOPED_TRACE(testing::Message() << "KV_SEED=" << seed);
  std::mt19937 random(seed);
  uint64_t attached = 0, evicted = 0;
  for (int life = 0; life < 10; ++life) {
    KvCacheOptions options = optionsOf(GetParam(), random);
    KvModel model(GetParam().shape.groups, options, GetParam().tightness == 0, random());
    for (int i = 0; i < 1500; ++i) {
      ASSERT_EQ(model.act(), "") << "life " << life << " act " << i;
      if (i % 50 == 0) {
        ASSERT_EQ(model.check(), "") << "life " << life << " act " << i;
      }
    }
    ASSERT_EQ(model.finish(), "") << "life " << life;
    attached += model.attached;
    evicted += model.kv.stats().evictedBlocks;
  }
  EXPECT_GT(attached, 100u) << "something is shared";
  if (GetParam().tightness == 1) {
    EXPECT_GT(evicted, 100u) << "memory is short";
  }
}
