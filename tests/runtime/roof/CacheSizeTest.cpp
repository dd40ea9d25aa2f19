#include <gtest/gtest.h>

#include <fmt/format.h>

#include "runtime/roof/CacheSize.h"
#include "tests/runtime/cpu/FakeRoot.h"

using namespace inf;
using inf::test::FakeRoot;

namespace {

void addCache(FakeRoot &root, int cpu, unsigned index, const char *type, const char *level,
              const char *size, const char *shared) {
  const std::string folder =
      fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}/", cpu, index);
  root.write(folder + "type", fmt::format("{}\n", type));
  root.write(folder + "level", fmt::format("{}\n", level));
  root.write(folder + "size", fmt::format("{}\n", size));
  root.write(folder + "shared_cpu_list", fmt::format("{}\n", shared));
}

} // namespace

TEST(CacheSize, aSharedCacheCountsOnceAndSeveralOfTheLastLevelAddUp) {
  FakeRoot root;
  root.addSmtMachine(4, 1);
  for (int cpu = 0; cpu < 4; ++cpu) {
    addCache(root, cpu, 0, "Data", "1", "32K", fmt::format("{}", cpu).c_str());
    addCache(root, cpu, 1, "Instruction", "9", "64G", fmt::format("{}", cpu).c_str());
    addCache(root, cpu, 2, "Unified", "3", "16384K", cpu < 2 ? "0-1" : "2-3");
  }
  EXPECT_EQ(lastLevelCacheBytes(root.system()), uint64_t(32) << 20);
}

TEST(CacheSize, withoutTheFilesNothingIsClaimed) {
  FakeRoot root;
  root.addSmtMachine(2, 1);
  EXPECT_EQ(lastLevelCacheBytes(root.system()), std::nullopt);
  addCache(root, 0, 0, "Data", "1", "much", "0");
  EXPECT_EQ(lastLevelCacheBytes(root.system()), std::nullopt);
}

TEST(CacheSize, sizesThatAreNoneOrTooLargeAreRefused) {
  EXPECT_EQ(parseCacheSize("48K"), 48u << 10);
  EXPECT_EQ(parseCacheSize("2M"), 2u << 20);
  EXPECT_EQ(parseCacheSize("7"), 7u);
  for (const char *text : {"", "K", "-1K", "3T", "3KB", "99999999999G", "99999999999999999999"})
    EXPECT_EQ(parseCacheSize(text), std::nullopt) << text;
}
