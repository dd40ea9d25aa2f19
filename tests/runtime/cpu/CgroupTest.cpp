#include "runtime/cpu/Cgroup.h"

#include "tests/runtime/cpu/FakeRoot.h"

#include <gtest/gtest.h>

namespace inf {
namespace {

using test::FakeRoot;
using Paths = std::vector<std::string>;

std::optional<CgroupPath> findIn(const FakeRoot &root, std::string_view controller) {
  return readCgroups(root.system()).find(root.system(), controller);
}

TEST(Cgroup, V2ListsOurGroupAndEveryAncestor) {
  FakeRoot root;
  root.addCgroupV2("/a/b");
  const auto path = findIn(root, "cpu");
  ASSERT_TRUE(path);
  EXPECT_EQ(path->version, 2);
  EXPECT_TRUE(path->exact);
  EXPECT_EQ(path->directories, Paths({"/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"}));
}

TEST(Cgroup, PathIsTakenBelowTheMountedRoot) {
  FakeRoot root; // a container without a cgroup namespace
  root.write("/proc/self/mountinfo",
             "40 30 0:29 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.write("/proc/self/cgroup", "0::/docker/x/job\n");
  root.makeDirectory("/sys/fs/cgroup/job");
  const auto path = findIn(root, "cpu");
  ASSERT_TRUE(path);
  EXPECT_EQ(path->directories, Paths({"/sys/fs/cgroup/job", "/sys/fs/cgroup"}));
}

TEST(Cgroup, NamesThatOnlyBeginAlikeAreNotBelow) {
  FakeRoot root;
  root.write("/proc/self/mountinfo",
             "40 30 0:29 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.write("/proc/self/cgroup", "0::/docker/xy\n");
  root.makeDirectory("/sys/fs/cgroup");
  const auto path = findIn(root, "cpu");
  ASSERT_TRUE(path);
  EXPECT_FALSE(path->exact);
  EXPECT_EQ(path->directories, Paths({"/sys/fs/cgroup"}));
}

TEST(Cgroup, GroupOutsideOfTheNamespaceIsNotFollowed) {
  FakeRoot root;
  root.addCgroupV2("/");
  root.write("/proc/self/cgroup", "0::/../../etc\n");
  const auto path = findIn(root, "cpu");
  ASSERT_TRUE(path);
  EXPECT_FALSE(path->exact);
}

TEST(Cgroup, EachControllerHasItsVersionOnAMixedMachine) {
  FakeRoot root;
  root.addCgroupV1({"cpu"}, "/box");
  root.addCgroupV2("/other");
  ASSERT_TRUE(findIn(root, "cpu"));
  EXPECT_EQ(findIn(root, "cpu")->version, 1);
  ASSERT_TRUE(findIn(root, "memory"));
  EXPECT_EQ(findIn(root, "memory")->version, 2);
}

TEST(Cgroup, CombinedControllersAndEscapedMountPoint) {
  FakeRoot root;
  root.write("/proc/self/mountinfo",
             "41 30 0:30 / /mnt/c\\040g rw a:1 b:2 - cgroup cgroup rw,cpu,cpuacct\n");
  root.write("/proc/self/cgroup", "3:cpuacct,cpu:/with:colon\n");
  root.makeDirectory("/mnt/c g/with:colon");
  const auto path = findIn(root, "cpu");
  ASSERT_TRUE(path);
  EXPECT_EQ(path->directories, Paths({"/mnt/c g/with:colon", "/mnt/c g"}));
  EXPECT_FALSE(findIn(root, "cpuset"));
}

TEST(Cgroup, GarbageTablesFindNothing) {
  FakeRoot root;
  using namespace std::string_literals;
  root.write("/proc/self/mountinfo", "\0\0 - - cgroup2\n40 30 - cgroup2\n\n-"s);
  root.write("/proc/self/cgroup", "::\n0:\n0::relative\n\n");
  EXPECT_FALSE(findIn(root, "cpu"));
  FakeRoot empty;
  EXPECT_FALSE(findIn(empty, "cpu"));
}

} // namespace
} // namespace inf
