// Weights mapped or copied: the rule, and that both give the same bytes.
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/loader/Filesystem.h"
#include "runtime/loader/LoadChoice.h"
#include "tests/runtime/cpu/FakeRoot.h"
#include "tests/runtime/format/TestSupport.h"

using namespace inf;
using namespace inf::test;
using testing::HasSubstr;

namespace {

constexpr uint64_t gigabyte = 1'000'000'000;

/// `kilobytes` available, huge pages where programs ask for them.
void setMachine(FakeRoot &root, const std::string &kilobytes, const std::string &hugePages) {
  root.write("/proc/meminfo", "MemAvailable: " + kilobytes + " kB\n");
  root.write("/sys/kernel/mm/transparent_hugepage/enabled", hugePages + "\n");
}

LoadMode chosen(const FakeRoot &root, uint64_t bytes, bool runsForLong) {
  return chooseLoad(std::nullopt, bytes, runsForLong, root.system()).mode;
}

/// A file of `before` bytes, then weights.
struct WeightFile {
  WeightFile(uint64_t before, uint64_t count) {
    std::vector<uint8_t> all(before + count + 100);
    for (uint64_t i = 0; i < all.size(); ++i)
      all[i] = uint8_t(i * 7 + i / 4096);
    writeBytes(folder / "w", all);
    weights.assign(all.begin() + std::ptrdiff_t(before),
                   all.begin() + std::ptrdiff_t(before + count));
    place = {folder / "w", before, count, all.size()};
  }
  TempFolder folder;
  std::vector<uint8_t> weights;
  WeightPlace place;
};

} // namespace

TEST(LoadChoice, onlyLongRunsWithRoomAndHugePagesCopyByThemselves) {
  FakeRoot root;
  setMachine(root, "20000000", "always [madvise] never");
  EXPECT_EQ(chosen(root, 10 * gigabyte, false), LoadMode::Map);
  EXPECT_EQ(chosen(root, 10 * gigabyte, true), LoadMode::Copy);
  EXPECT_EQ(chosen(root, 18 * gigabyte, true), LoadMode::Map) << "a fifth is to stay";
  EXPECT_EQ(chosen(root, 10'000'000, true), LoadMode::Map) << "caches hold them";
  setMachine(root, "20000000", "always madvise [never]");
  EXPECT_EQ(chosen(root, 10 * gigabyte, true), LoadMode::Map);
}

TEST(LoadChoice, whatIsAskedForIsDoneOrRefused) {
  FakeRoot root;
  setMachine(root, "20000000", "always madvise [never]");
  const LoadChoice copy = chooseLoad(LoadMode::Copy, 5 * gigabyte, false, root.system());
  EXPECT_EQ(copy.mode, LoadMode::Copy);
  EXPECT_FALSE(copy.dropCache);
  EXPECT_TRUE(chooseLoad(LoadMode::Copy, 15 * gigabyte, false, root.system()).dropCache)
      << "memory does not hold file and copy";
  EXPECT_EQ(chooseLoad(LoadMode::Map, 50 * gigabyte, true, root.system()).mode, LoadMode::Map);
  expectFailure(ErrorCode::Machine, {"--load=copy", "25.0 GB", "20.5 GB", "--load=map"},
                [&] { chooseLoad(LoadMode::Copy, 25 * gigabyte, true, root.system()); });
}

TEST(LoadChoice, whereMappingIsSlowTheFileIsCopiedWheneverItFits) {
  FakeRoot root;
  setMachine(root, "20000000", "always madvise [never]");
  const auto choose = [&](std::optional<LoadMode> asked, uint64_t bytes) {
    return chooseLoad(asked, bytes, false, root.system(), "9p");
  };
  const LoadChoice fits = choose(std::nullopt, 10 * gigabyte);
  EXPECT_EQ(fits.mode, LoadMode::Copy);
  EXPECT_THAT(fits.reason, HasSubstr("9p"));
  EXPECT_EQ(fits.warning, "");
  EXPECT_EQ(choose(std::nullopt, 1000).mode, LoadMode::Copy) << "however few";
  const LoadChoice tooLarge = choose(std::nullopt, 18 * gigabyte);
  EXPECT_EQ(tooLarge.mode, LoadMode::Map);
  EXPECT_THAT(tooLarge.warning, HasSubstr("9p"));
  EXPECT_THAT(tooLarge.warning, HasSubstr("local disk"));
  const LoadChoice asked = choose(LoadMode::Map, gigabyte);
  EXPECT_EQ(asked.mode, LoadMode::Map);
  EXPECT_THAT(asked.warning, HasSubstr("--load=copy"));
  EXPECT_EQ(choose(LoadMode::Copy, gigabyte).warning, "");
}

TEST(LoadChoice, filesystemsThatAreSlowToMapAreKnownByTheirType) {
  EXPECT_EQ(slowToMap(0x01021997), "9p");
  EXPECT_EQ(slowToMap(0x53464846), "drvfs");
  EXPECT_EQ(slowToMap(0x65735546), "fuse");
  for (const uint64_t local : {0xef53u, 0x9123683eu, 0x58465342u, 0x01021994u}) // ext4, btrfs, ...
    EXPECT_EQ(slowToMap(local), "") << local;
  EXPECT_EQ(filesystemType("/proc"), 0x9fa0u);
  EXPECT_EQ(filesystemType("/nowhere/at/all"), 0u);
}

TEST(LoadChoice, whatTheGroupHasTakenAlreadyIsNotThere) {
  FakeRoot root;
  setMachine(root, "64000000", "always [madvise] never");
  root.addCgroupV2("/box");
  root.write("/sys/fs/cgroup/box/memory.max", "16000000000\n");
  EXPECT_EQ(chosen(root, 12 * gigabyte, true), LoadMode::Copy);
  root.write("/sys/fs/cgroup/box/memory.current", "8000000000\n");
  root.write("/sys/fs/cgroup/box/memory.stat", "anon 7000000000\ninactive_file 500000000\n");
  EXPECT_EQ(chosen(root, 12 * gigabyte, true), LoadMode::Map);
  EXPECT_EQ(chosen(root, 6 * gigabyte, true), LoadMode::Copy);
}

TEST(LoadChoice, modesAreNamedOrRefused) {
  EXPECT_EQ(parseLoadMode("map"), LoadMode::Map);
  EXPECT_EQ(parseLoadMode("copy"), LoadMode::Copy);
  EXPECT_EQ(parseLoadMode("auto"), std::nullopt);
  expectFailure(ErrorCode::Usage, {"--load", "mmap"}, [] { parseLoadMode("mmap"); });
}

TEST(WeightMemory, aCopyHasTheBytesOfTheMap) {
  // More than two chunks, ending in the middle of a page.
  const WeightFile file(8192, (uint64_t{40} << 20) + 1234);
  const WeightMemory mapped = WeightMemory::map(file.place);
  EXPECT_TRUE(std::equal(mapped.bytes().begin(), mapped.bytes().end(), file.weights.begin(),
                         file.weights.end()));
  for (unsigned threads : {1u, 3u})
    for (bool dropCache : {false, true}) {
      uint64_t told = 0;
      const WeightMemory copied =
          WeightMemory::copy(file.place, threads, dropCache, [&](uint64_t done, uint64_t total) {
            EXPECT_LE(told, done);
            EXPECT_EQ(total, file.weights.size());
            told = done;
          });
      EXPECT_EQ(told, file.weights.size());
      EXPECT_TRUE(std::equal(copied.bytes().begin(), copied.bytes().end(), file.weights.begin(),
                             file.weights.end()));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(copied.bytes().data()) % (uint64_t{2} << 20), 0u);
    }
}

TEST(WeightMemory, aFileThatChangedIsRefusedBothWays) {
  WeightFile file(4096, 10000);
  file.place.fileBytes += 1;
  expectFailure(ErrorCode::BadInput, {"changed while it was loaded"},
                [&] { WeightMemory::map(file.place); });
  expectFailure(ErrorCode::BadInput, {"changed while it was loaded"},
                [&] { WeightMemory::copy(file.place, 2, false, nullptr); });
}
