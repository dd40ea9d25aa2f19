#include <gtest/gtest.h>

#include "runtime/session/Traffic.h"
#include "tests/runtime/session/FakeModel.h"

using namespace inf;

TEST(Traffic, keysAndValuesGrowWithTheContextInFullGroupsOnly) {
  auto model = inf::test::loadFakeModel();
  // One full layer and two window layers; 2 heads x 4 floats, keys and values: 64 bytes a key.
  EXPECT_EQ(kvBytesRead(model->code(), 0), 64u + 128u);
  EXPECT_EQ(kvBytesRead(model->code(), 19), 20 * 64u + 20 * 128u);
  EXPECT_EQ(kvBytesRead(model->code(), 20), 21 * 64u + 20 * 128u);
  EXPECT_EQ(kvBytesRead(model->code(), 4095), 4096 * 64u + 20 * 128u);
  EXPECT_EQ(bytesPerGeneratedToken(*model, 0), 4u + 192u);
}

TEST(Traffic, bf16ElementsCountHalf) {
  uint32_t layer = 0;
  inf_kv_group group = {sizeof(inf_kv_group),
                        INF_ELEMENT_BF16,
                        32,
                        12,
                        8,
                        64,
                        128,
                        0,
                        4096,
                        32768,
                        65536,
                        786432,
                        &layer};
  inf_model model = {};
  model.kv_groups = 1;
  model.kv_group = &group;
  EXPECT_EQ(kvBytesRead(model, 5000), 128u * 12 * 8 * 64 * 2 * 2);
}

TEST(Traffic, theHashIsXxh3OfTheFloats) {
  std::vector<float> logits;
  EXPECT_EQ(logitsHash(logits), 0x2d06800538d394c2u)
      << "XXH3-64 of nothing, from its specification";
  logits = {0.0f, 1.0f};
  std::vector<float> negativeZero = {-0.0f, 1.0f};
  EXPECT_NE(logitsHash(logits), logitsHash(negativeZero)) << "bits count, not values";
}
