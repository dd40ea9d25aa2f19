#include "runtime/cpu/Topology.h"

#include "tests/runtime/cpu/FakeRoot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inf {
namespace {

using test::FakeRoot;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Topology, PlainSmtMachine) {
  FakeRoot root;
  root.addSmtMachine(8, 2);
  const Topology topology = readTopology(root.system("0-15"));
  EXPECT_EQ(topology.cpus.size(), 16u);
  EXPECT_EQ(topology.coreCount(), 8u);
  EXPECT_EQ(topology.cpus[11].core, 3);
  EXPECT_EQ(topology.packageCount(), 1u);
  EXPECT_EQ(topology.nodeCount(), 1u);
  EXPECT_FALSE(topology.hybrid);
  EXPECT_THAT(topology.notices, IsEmpty());
}

TEST(Topology, EqualCoreIdsInTwoSocketsAreTwoCores) {
  FakeRoot root;
  root.write("/sys/devices/system/cpu/online", "0-1\n");
  root.addCpu(0, "0", 0, 0);
  root.addCpu(1, "1", 0, 1);
  root.write("/sys/devices/system/node/online", "0-1\n");
  root.addNode(0, "0");
  root.addNode(1, "1");
  const Topology topology = readTopology(root.system());
  EXPECT_EQ(topology.coreCount(), 2u);
  EXPECT_EQ(topology.packageCount(), 2u);
  EXPECT_EQ(topology.nodeCount(), 2u);
}

TEST(Topology, HybridMachineKnowsItsKinds) {
  FakeRoot root;
  root.addSmtMachine(4, 1);
  root.write("/sys/devices/cpu_core/cpus", "0-1\n");
  root.write("/sys/devices/cpu_atom/cpus", "2-3\n");
  const Topology topology = readTopology(root.system());
  EXPECT_TRUE(topology.hybrid);
  EXPECT_EQ(topology.cpus[1].kind, CoreKind::Performance);
  EXPECT_EQ(topology.cpus[2].kind, CoreKind::Efficient);
}

TEST(Topology, ECoresOffIsNotHybrid) {
  FakeRoot root;
  root.addSmtMachine(4, 1);
  root.write("/sys/devices/cpu_core/cpus", "0-3\n");
  EXPECT_FALSE(readTopology(root.system()).hybrid);
}

TEST(Topology, NodeOfMemoryOnlyIsNoCpuNode) {
  FakeRoot root;
  root.addSmtMachine(2, 1);
  root.write("/sys/devices/system/node/online", "0-1\n");
  root.addNode(1, "");
  const Topology topology = readTopology(root.system());
  EXPECT_EQ(topology.nodeCount(), 1u);
  EXPECT_THAT(topology.notices, IsEmpty());
}

TEST(Topology, OfflineSiblingsAreLeftOut) {
  FakeRoot root;
  root.addSmtMachine(4, 2);
  root.write("/sys/devices/system/cpu/online", "0-2,5\n");
  const Topology topology = readTopology(root.system());
  EXPECT_EQ(topology.ids(), CpuList({0, 1, 2, 5}));
  EXPECT_EQ(topology.coreCount(), 3u);
}

TEST(Topology, WithoutFilesEachCpuOfTheMaskIsACore) {
  FakeRoot root;
  const Topology topology = readTopology(root.system("0-3"));
  EXPECT_EQ(topology.ids(), CpuList({0, 1, 2, 3}));
  EXPECT_EQ(topology.coreCount(), 4u);
  ASSERT_EQ(topology.notices.size(), 3u);
  EXPECT_THAT(topology.notices[1], HasSubstr("SMT siblings of CPU 0-3 are unknown"));
}

TEST(Topology, WithoutAnythingThereIsStillOneCpu) {
  FakeRoot root;
  EXPECT_EQ(readTopology(root.system()).ids(), CpuList({0}));
}

TEST(Topology, GarbageFilesBecomeNotices) {
  FakeRoot root;
  root.addSmtMachine(2, 2);
  root.write("/sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "\xff\xfe garbage");
  root.write("/sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "3"); // not itself
  root.write("/sys/devices/system/cpu/cpu0/topology/physical_package_id", "x");
  root.write("/sys/devices/system/node/node0/cpulist", "0-99999999999");
  root.write("/sys/devices/cpu_core/cpus", "P-cores");
  const Topology topology = readTopology(root.system());
  EXPECT_EQ(topology.cpus.size(), 4u);
  EXPECT_FALSE(topology.hybrid);
  ASSERT_EQ(topology.notices.size(), 3u);
  EXPECT_THAT(topology.notices[0], HasSubstr("SMT siblings of CPU 1-2 are unknown"));
}

TEST(Topology, HostHasACpu) {
  const Topology topology = readTopology(SystemRoot{});
  EXPECT_GE(topology.cpus.size(), 1u);
  EXPECT_LE(topology.coreCount(), topology.cpus.size());
}

} // namespace
} // namespace inf
