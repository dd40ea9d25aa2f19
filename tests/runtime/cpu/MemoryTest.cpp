#include "runtime/cpu/Memory.h"

#include "tests/runtime/cpu/FakeRoot.h"

#include <gtest/gtest.h>

#include <vector>

namespace inf {
namespace {

using test::FakeRoot;

TEST(Memory, ReadsPeakTotalAndLimit) {
  FakeRoot root;
  root.write("/proc/self/status",
             "Name:\tx\nVmPeak:\t  9 kB\nVmSize:\t8 kB\nVmHWM:\t    2048 kB\nVmRSS:\t1 kB\n");
  root.write("/proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n");
  root.addCgroupV2("/box");
  root.write("/sys/fs/cgroup/box/memory.max", "5000000\n");
  EXPECT_EQ(peakResidentBytes(root.system()), uint64_t{2048} * 1024);
  EXPECT_EQ(addressSpaceBytes(root.system()), 8u * 1024);
  EXPECT_EQ(physicalMemoryBytes(root.system()), uint64_t{16384} * 1024);
  EXPECT_EQ(memoryLimitBytes(root.system()), 5000000u);
}

TEST(Memory, WhatCanBeHadIsTheTighterOfMachineAndGroup) {
  FakeRoot root;
  EXPECT_EQ(availableMemoryBytes(root.system()), std::nullopt);
  root.write("/proc/meminfo", "MemTotal:  16384 kB\nMemAvailable:  8192 kB\n");
  EXPECT_EQ(availableMemoryBytes(root.system()), uint64_t{8192} * 1024);
  root.addCgroupV2("/box");
  root.write("/sys/fs/cgroup/box/memory.max", "5000000\n");
  EXPECT_EQ(availableMemoryBytes(root.system()), 5000000u);
}

TEST(Memory, MissingOrGarbageIsUnknown) {
  FakeRoot root;
  EXPECT_EQ(peakResidentBytes(root.system()), std::nullopt);
  EXPECT_EQ(memoryLimitBytes(root.system()), std::nullopt);
  for (const char *text : {"VmHWM:", "VmHWM: x kB", "VmHWM: 5", "VmHWM: 5 MB", "VmHWM",
                           "XVmHWM: 5 kB", "VmHWM: 18446744073709551615 kB"}) {
    root.write("/proc/self/status", text);
    EXPECT_EQ(peakResidentBytes(root.system()), std::nullopt) << text;
  }
}

TEST(Memory, HostPeakGrowsWithTouchedMemory) {
  constexpr size_t bytes = size_t{64} << 20;
  std::vector<char> touched(bytes, 1);
  const std::optional<uint64_t> peak = peakResidentBytes();
  ASSERT_TRUE(peak);
  EXPECT_GT(*peak, bytes);
  EXPECT_EQ(touched[bytes / 2], 1);
}

} // namespace
} // namespace inf
