#include "runtime/cpu/ThreadPlan.h"

#include "runtime/base/Error.h"
#include "tests/runtime/cpu/FakeRoot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inf {
namespace {

using test::FakeRoot;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::nullopt_t byDefault = std::nullopt;

std::string usageErrorOf(const SystemRoot &system, std::optional<unsigned> requested,
                         const std::vector<int> &bind) {
  try {
    planThreads(system, requested, bind);
  } catch (const Error &error) {
    EXPECT_EQ(error.code, ErrorCode::Usage);
    return error.what();
  }
  return "no error";
}

/// 16 CPUs in 8 cores, cgroup v2 in /box.
struct Host : FakeRoot {
  Host() {
    addSmtMachine(8, 2);
    addCgroupV2("/box");
  }
};

TEST(ThreadPlan, OneThreadPerCoreOfAPlainMachine) {
  Host host;
  const ThreadPlan plan = planThreads(host.system("0-15"), byDefault);
  EXPECT_EQ(plan.threads, 8u);
  EXPECT_THAT(plan.cpus, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(plan.capacity, 16u);
  EXPECT_TRUE(plan.pin);
  EXPECT_EQ(plan.reason, "8 threads: one for each of the 8 physical cores of this machine");
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(ThreadPlan, SiblingsComeAfterAllCores) {
  FakeRoot root; // adjacent numbering, as some BIOSes do it
  root.write("/sys/devices/system/cpu/online", "0-3\n");
  for (int cpu = 0; cpu < 4; ++cpu)
    root.addCpu(cpu, cpu < 2 ? "0-1" : "2-3", cpu / 2, 0);
  EXPECT_THAT(planThreads(root.system(), 4).cpus, ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(planThreads(root.system(), byDefault).cpus, ElementsAre(0, 2));
}

TEST(ThreadPlan, QuotaOfTwoOnABigHost) {
  Host host;
  host.write("/sys/fs/cgroup/box/cpu.max", "200000 100000\n");
  const ThreadPlan plan = planThreads(host.system("0-15"), byDefault);
  EXPECT_EQ(plan.threads, 2u);
  EXPECT_EQ(plan.reason, "the CPU quota of 2 CPUs (/sys/fs/cgroup/box/cpu.max) chose 2 threads, "
                         "below the 8 physical cores we may use");
  EXPECT_EQ(plan.capacity, 2u);
  EXPECT_FALSE(plan.pin) << "containers sharing the host would pile up on the first cores";
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(ThreadPlan, QuotaIsRoundedDownToAtLeastOne) {
  const std::pair<const char *, unsigned> table[] = {
      {"150000 100000", 1}, {"50000 100000", 1},   {"299999 100000", 2},
      {"800000 100000", 8}, {"999999999 1000", 8}, {"18446744073709551615 1", 8}};
  for (const auto &[text, threads] : table) {
    Host host;
    host.write("/sys/fs/cgroup/box/cpu.max", text);
    EXPECT_EQ(planThreads(host.system("0-15"), byDefault).threads, threads) << text;
  }
}

TEST(ThreadPlan, NestedQuotasTakeTheTightest) {
  FakeRoot root;
  root.addSmtMachine(8, 2);
  root.addCgroupV2("/pod/container");
  root.write("/sys/fs/cgroup/pod/cpu.max", "300000 100000\n");
  root.write("/sys/fs/cgroup/pod/container/cpu.max", "600000 100000\n");
  const ThreadPlan plan = planThreads(root.system("0-15"), byDefault);
  EXPECT_EQ(plan.threads, 3u);
  EXPECT_THAT(plan.reason, HasSubstr("/sys/fs/cgroup/pod/cpu.max"));
}

TEST(ThreadPlan, V1Quota) {
  FakeRoot root;
  root.addSmtMachine(8, 2);
  root.addCgroupV1({"cpu"}, "/docker/x");
  root.write("/sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us", "400000\n");
  root.write("/sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(planThreads(root.system("0-15"), byDefault).threads, 4u);
}

TEST(ThreadPlan, CpusetNarrowsTheMachine) {
  Host host;
  host.write("/sys/fs/cgroup/box/cpuset.cpus.effective", "0-1\n");
  const ThreadPlan plan = planThreads(host.system("0-1"), byDefault);
  EXPECT_EQ(plan.threads, 2u);
  EXPECT_THAT(plan.cpus, ElementsAre(0, 1));
  EXPECT_THAT(plan.reason, AllOf(HasSubstr("2 physical cores"), HasSubstr("the cpuset (0-1")));
}

TEST(ThreadPlan, SiblingsOfOneCoreAreOneThread) {
  Host host;
  EXPECT_EQ(planThreads(host.system("3,11"), byDefault).threads, 1u);
}

TEST(ThreadPlan, AffinityNarrowerThanCpusetIsNamed) {
  Host host;
  host.write("/sys/fs/cgroup/box/cpuset.cpus.effective", "0-3\n");
  const ThreadPlan plan = planThreads(host.system("2"), byDefault);
  EXPECT_EQ(plan.threads, 1u);
  EXPECT_THAT(plan.cpus, ElementsAre(2));
  EXPECT_THAT(plan.reason, HasSubstr("the affinity mask (2, from sched_getaffinity)"));
}

/// 8 P-cores with SMT (CPUs 0-15, siblings adjacent) and 8 E-cores (16-23).
struct Hybrid : FakeRoot {
  Hybrid() {
    write("/sys/devices/system/cpu/online", "0-23\n");
    for (int cpu = 0; cpu < 16; ++cpu)
      addCpu(cpu, fmt::format("{}-{}", cpu & ~1, cpu | 1), cpu / 2, 0);
    for (int cpu = 16; cpu < 24; ++cpu)
      addCpu(cpu, fmt::format("{}", cpu), cpu, 0);
    write("/sys/devices/cpu_core/cpus", "0-15\n");
    write("/sys/devices/cpu_atom/cpus", "16-23\n");
  }
};

TEST(ThreadPlan, HybridMachineUsesPCoresOnly) {
  Hybrid hybrid;
  const ThreadPlan plan = planThreads(hybrid.system("0-23"), byDefault);
  EXPECT_EQ(plan.threads, 8u);
  EXPECT_THAT(plan.cpus, ElementsAre(0, 2, 4, 6, 8, 10, 12, 14));
  EXPECT_THAT(plan.reason, HasSubstr("8 P-cores"));
}

TEST(ThreadPlan, HybridOrderIsPThenEThenSiblings) {
  Hybrid hybrid;
  const ThreadPlan plan = planThreads(hybrid.system("0-23"), 18);
  ASSERT_THAT(plan.cpus, SizeIs(18));
  EXPECT_EQ(plan.cpus[7], 14);
  EXPECT_EQ(plan.cpus[8], 16);
  EXPECT_EQ(plan.cpus[16], 1);
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(ThreadPlan, OnlyECoresAllowedMeansECores) {
  Hybrid hybrid;
  const ThreadPlan plan = planThreads(hybrid.system("16-19"), byDefault);
  EXPECT_EQ(plan.threads, 4u);
  EXPECT_THAT(plan.reason, HasSubstr("4 E-cores"));
}

TEST(ThreadPlan, NumaNodesAreFilledOneAfterTheOther) {
  FakeRoot root; // Linux numbers the CPUs of two sockets alternately on some boards
  root.addSmtMachine(8, 1);
  root.write("/sys/devices/system/node/online", "0-1\n");
  root.addNode(0, "0,2,4,6");
  root.addNode(1, "1,3,5,7");
  EXPECT_THAT(planThreads(root.system("0-7"), byDefault).cpus, ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
  EXPECT_THAT(planThreads(root.system("0-7"), byDefault).nodes,
              ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_THAT(planThreads(root.system("0-7"), 3).cpus, ElementsAre(0, 2, 4));
}

TEST(ThreadPlan, WithoutTopologyFilesTheQuotaStillCounts) {
  FakeRoot root; // like WSL: one node, no topology directory
  root.write("/sys/devices/system/cpu/online", "0-7\n");
  root.write("/sys/devices/system/node/online", "0\n");
  root.addNode(0, "0-7");
  root.addCgroupV2("/");
  root.write("/sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(planThreads(root.system("0-7"), byDefault).threads, 4u);
}

TEST(ThreadPlan, RequestBeyondTheQuotaIsObeyedWithOneWarning) {
  Host host;
  host.write("/sys/fs/cgroup/box/cpu.max", "200000 100000\n");
  host.write("/sys/fs/cgroup/box/cpuset.cpus.effective", "0-7\n");
  const ThreadPlan plan = planThreads(host.system("0-7"), 16);
  EXPECT_EQ(plan.threads, 16u);
  EXPECT_EQ(plan.capacity, 2u);
  EXPECT_THAT(plan.cpus, SizeIs(8));
  EXPECT_THAT(plan.warnings,
              ElementsAre(AllOf(HasSubstr("16 threads were requested"),
                                HasSubstr("the CPU quota of 2 CPUs"), Not(HasSubstr("\n")))));
}

TEST(ThreadPlan, RequestBeyondTheCpusNamesThem) {
  Host host;
  const ThreadPlan plan = planThreads(host.system("0-3"), 5);
  EXPECT_THAT(plan.warnings, ElementsAre(HasSubstr("allowed CPUs 0-3 leaves room for 4")));
}

TEST(ThreadPlan, RequestWithinTheLimitsIsSilent) {
  Host host;
  const ThreadPlan plan = planThreads(host.system("0-15"), 12);
  EXPECT_EQ(plan.threads, 12u);
  EXPECT_THAT(plan.cpus, SizeIs(12));
  EXPECT_THAT(plan.warnings, IsEmpty());
  EXPECT_EQ(plan.reason, "12 threads as requested");
}

TEST(ThreadPlan, AbsurdRequestsAreRefused) {
  Host host;
  EXPECT_THAT(usageErrorOf(host.system(), 0, {}), HasSubstr("expected 1 to 1024"));
  EXPECT_THAT(usageErrorOf(host.system(), 4294967295u, {}), HasSubstr("expected 1 to 1024"));
}

TEST(ThreadPlan, BindListIsTakenInItsOrder) {
  Host host;
  const std::vector<int> bind = {7, 3, 11};
  const ThreadPlan plan = planThreads(host.system("0-15"), byDefault, bind);
  EXPECT_EQ(plan.threads, 3u);
  EXPECT_THAT(plan.cpus, ElementsAre(7, 3, 11));
  EXPECT_TRUE(plan.pin);
}

TEST(ThreadPlan, BindListWithForbiddenCpuNamesTheAllowedSet) {
  Host host;
  host.write("/sys/fs/cgroup/box/cpuset.cpus.effective", "0-3\n");
  const std::string message = usageErrorOf(host.system("0-3"), byDefault, {1, 9});
  EXPECT_THAT(message, AllOf(HasSubstr("CPU 9"), HasSubstr("CPUs 0-3")));
  EXPECT_THAT(usageErrorOf(host.system("0-3"), byDefault, {-1}), HasSubstr("CPU -1"));
  EXPECT_THAT(usageErrorOf(host.system("0-3"), byDefault, {2, 2}), HasSubstr("twice"));
}

TEST(ThreadPlan, BindListBeyondTheQuotaWarnsOnce) {
  Host host;
  host.write("/sys/fs/cgroup/box/cpu.max", "200000 100000\n");
  const std::vector<int> bind = {0, 1, 2, 3};
  const ThreadPlan plan = planThreads(host.system("0-15"), byDefault, bind);
  EXPECT_EQ(plan.threads, 4u);
  EXPECT_TRUE(plan.pin);
  EXPECT_THAT(plan.warnings, ElementsAre(HasSubstr("leaves room for 2")));
}

TEST(ThreadPlan, ContradictingLimitsAreIgnoredWithAWarning) {
  Host host; // the cpuset of another machine's files
  host.write("/sys/fs/cgroup/box/cpuset.cpus.effective", "100-103\n");
  const ThreadPlan plan = planThreads(host.system("0-15"), byDefault);
  EXPECT_EQ(plan.threads, 8u);
  EXPECT_THAT(plan.warnings, ElementsAre(HasSubstr("shares no CPU")));
}

TEST(ThreadPlan, GarbageEverywhereStillPlansOneThread) {
  FakeRoot root;
  for (const char *path :
       {"/sys/devices/system/cpu/online", "/sys/devices/system/node/online",
        "/sys/devices/cpu_core/cpus", "/proc/self/mountinfo", "/proc/self/cgroup"})
    root.write(path, "\xff garbage \x01\n");
  const ThreadPlan plan = planThreads(root.system(), byDefault);
  EXPECT_EQ(plan.threads, 1u);
  EXPECT_THAT(plan.cpus, ElementsAre(0));
}

TEST(ThreadPlan, HostPlanIsUsable) {
  const ThreadPlan plan = planThreads(SystemRoot{}, byDefault);
  EXPECT_GE(plan.threads, 1u);
  EXPECT_EQ(plan.cpus.size(), plan.threads);
}

} // namespace
} // namespace inf
