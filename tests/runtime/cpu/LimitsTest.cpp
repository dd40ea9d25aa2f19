#include "runtime/cpu/Limits.h"

#include "tests/runtime/cpu/FakeRoot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inf {
namespace {

using test::FakeRoot;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Limits, V2QuotaCpusetAndMemory) {
  FakeRoot root;
  root.addCgroupV2("/box");
  root.write("/sys/fs/cgroup/box/cpu.max", "200000 100000\n");
  root.write("/sys/fs/cgroup/box/cpuset.cpus.effective", "0-1\n");
  root.write("/sys/fs/cgroup/box/memory.max", "1073741824\n");
  const Limits limits = readLimits(root.system("0-3"));
  ASSERT_TRUE(limits.quota.limited());
  EXPECT_DOUBLE_EQ(limits.quota.value.cpus(), 2.0);
  EXPECT_EQ(limits.quota.source, "/sys/fs/cgroup/box/cpu.max");
  EXPECT_EQ(limits.cpuset.value, CpuList({0, 1}));
  EXPECT_EQ(limits.memory.value, uint64_t{1} << 30);
  EXPECT_EQ(limits.affinity.value, CpuList({0, 1, 2, 3}));
  EXPECT_THAT(limits.notices, IsEmpty());
}

TEST(Limits, TightestAncestorWins) {
  FakeRoot root;
  root.addCgroupV2("/a/b/c");
  root.write("/sys/fs/cgroup/a/cpu.max", "300000 200000\n"); // 1.5
  root.write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  root.write("/sys/fs/cgroup/a/b/c/cpu.max", "400000 100000\n"); // 4
  root.write("/sys/fs/cgroup/a/memory.max", "4096000\n");
  root.write("/sys/fs/cgroup/a/b/memory.max", "8192000\n");
  root.write("/sys/fs/cgroup/a/b/c/memory.max", "max\n");
  root.write("/sys/fs/cgroup/a/cpuset.cpus.effective", "0-7\n");
  root.write("/sys/fs/cgroup/a/b/cpuset.cpus.effective", "0-1\n");
  root.write("/sys/fs/cgroup/a/b/c/cpuset.cpus.effective", "\n"); // as the parent
  const Limits limits = readLimits(root.system());
  EXPECT_DOUBLE_EQ(limits.quota.value.cpus(), 1.5);
  EXPECT_EQ(limits.quota.source, "/sys/fs/cgroup/a/cpu.max");
  EXPECT_EQ(limits.memory.value, 4096000u);
  EXPECT_EQ(limits.cpuset.value, CpuList({0, 1}));
}

TEST(Limits, V1QuotaCpusetAndMemory) {
  FakeRoot root;
  root.addCgroupV1({"cpu", "cpuset", "memory"}, "/docker/x");
  root.write("/sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us", "250000\n");
  root.write("/sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us", "100000\n");
  root.write("/sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us", "-1\n");
  root.write("/sys/fs/cgroup/cpuset/docker/x/cpuset.cpus", "2-5\n");
  root.write("/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "536870912\n");
  const Limits limits = readLimits(root.system("0-7"));
  EXPECT_DOUBLE_EQ(limits.quota.value.cpus(), 2.5);
  EXPECT_EQ(limits.cpuset.value, CpuList({2, 3, 4, 5}));
  EXPECT_EQ(limits.memory.value, 536870912u);
  EXPECT_EQ(limits.memory.source, "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes");
}

TEST(Limits, AbsentFilesOfAVisibleGroupAreNoLimit) {
  FakeRoot root;
  root.addCgroupV2("/box");
  const Limits limits = readLimits(root.system("0"));
  EXPECT_EQ(limits.quota.state, LimitState::Unlimited);
  EXPECT_EQ(limits.memory.state, LimitState::Unlimited);
  EXPECT_THAT(limits.notices, IsEmpty());
}

TEST(Limits, NoCgroupAtAllIsUnknown) {
  FakeRoot root;
  const Limits limits = readLimits(root.system());
  for (const LimitState state :
       {limits.affinity.state, limits.cpuset.state, limits.quota.state, limits.memory.state})
    EXPECT_EQ(state, LimitState::Unknown);
  EXPECT_EQ(limits.notices.size(), 4u);
}

TEST(Limits, InvisibleGroupIsUnknownButTheMountPointCounts) {
  FakeRoot root;
  root.addCgroupV2("/");
  root.write("/proc/self/cgroup", "0::/not/mounted/here\n");
  root.write("/sys/fs/cgroup/cpu.max", "300000 100000\n");
  const Limits limits = readLimits(root.system());
  EXPECT_DOUBLE_EQ(limits.quota.value.cpus(), 3.0);
  EXPECT_EQ(limits.memory.state, LimitState::Unknown);
  EXPECT_THAT(limits.notices, Contains(HasSubstr("not visible below /sys/fs/cgroup")));
}

class GarbageQuota : public testing::TestWithParam<std::string> {};

TEST_P(GarbageQuota, IsUnknownWithANotice) {
  FakeRoot root;
  root.addCgroupV2("/box");
  root.write("/sys/fs/cgroup/box/cpu.max", GetParam());
  const Limits limits = readLimits(root.system("0"));
  EXPECT_EQ(limits.quota.state, LimitState::Unknown);
  ASSERT_EQ(limits.notices.size(), 1u);
  EXPECT_THAT(limits.notices[0], HasSubstr("/sys/fs/cgroup/box/cpu.max is garbage"));
}

INSTANTIATE_TEST_SUITE_P(Texts, GarbageQuota,
                         testing::Values("", "\n", "max", "200000", "200000 0", "0 100000",
                                         "-5 100000", "1e5 100000", "99999999999999999999 1",
                                         "200000 100000 7", "\xff\xfe\x01", "two 100000"));

TEST(Limits, GarbageInOneGroupLeavesTheOthersStanding) {
  FakeRoot root;
  root.addCgroupV2("/a/b");
  root.write("/sys/fs/cgroup/a/cpu.max", "100000 100000\n");
  root.write("/sys/fs/cgroup/a/b/cpu.max", "?");
  root.write("/sys/fs/cgroup/a/b/memory.max", "lots");
  root.write("/sys/fs/cgroup/a/b/cpuset.cpus.effective", "0-");
  const Limits limits = readLimits(root.system("0"));
  EXPECT_DOUBLE_EQ(limits.quota.value.cpus(), 1.0);
  EXPECT_EQ(limits.memory.state, LimitState::Unknown);
  EXPECT_EQ(limits.cpuset.state, LimitState::Unknown);
  EXPECT_EQ(limits.notices.size(), 3u);
}

TEST(Limits, V1QuotaWithoutPeriodIsUnknown) {
  FakeRoot root;
  root.addCgroupV1({"cpu"}, "/");
  root.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
  EXPECT_EQ(readLimits(root.system()).quota.state, LimitState::Unknown);
}

TEST(Limits, EndlessAndOddFilesDoNotHang) {
  FakeRoot root;
  root.addCgroupV2("/box");
  root.makeDirectory("/sys/fs/cgroup/box/cpu.max"); // a directory where a file should be
  root.write("/sys/fs/cgroup/box/memory.max", std::string(2 << 20, '1'));
  const Limits limits = readLimits(root.system("0"));
  EXPECT_FALSE(limits.quota.limited());
  EXPECT_FALSE(limits.memory.limited());
}

TEST(Limits, HostLimitsCanBeRead) { EXPECT_TRUE(readLimits(SystemRoot{}).affinity.limited()); }

} // namespace
} // namespace inf
