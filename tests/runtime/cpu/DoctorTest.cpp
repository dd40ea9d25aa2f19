#include "runtime/cpu/Doctor.h"

#include "tests/runtime/cpu/FakeCpuid.h"
#include "tests/runtime/cpu/FakeRoot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inf {
namespace {

using testing::HasSubstr;

TEST(Doctor, TextSaysEverythingOnce) {
  test::FakeRoot root;
  root.addSmtMachine(8, 2);
  root.addCgroupV2("/box");
  root.write("/sys/fs/cgroup/box/cpu.max", "200000 100000\n");
  root.write("/sys/fs/cgroup/box/memory.max", "4294967296\n");
  root.write("/proc/meminfo", "MemTotal: 33554432 kB\n");
  root.write("/proc/self/status", "VmHWM: 10240 kB\n");
  test::FakeCpu cpu = test::cascadeLake();
  cpu.xcr0 = 0x7;
  const std::string text = doctorText(examineMachine(test::sourceOf(cpu), root.system("0-15"), 16));
  for (const char *expected :
       {"cpu           Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz\n",
        "features      sse4_2, avx, f16c, fma, avx2, bmi1, bmi2\n",
        "  notice      avx512_vnni is reported but the OS does not save zmm registers\n",
        "topology      16 CPUs, 8 cores, sockets: 1, NUMA nodes: 1\n",
        "affinity      0-15 (sched_getaffinity)\n", "cpuset        none\n",
        "cpu quota     2 CPUs (/sys/fs/cgroup/box/cpu.max)\n",
        "memory        32.0 GiB in this machine\n",
        "memory limit  4.0 GiB (/sys/fs/cgroup/box/memory.max)\n",
        "memory peak   10.0 MiB by this process\n", "threads       16 threads as requested\n",
        "  warning     16 threads were requested but the CPU quota of 2 CPUs"})
    EXPECT_THAT(text, HasSubstr(expected));
}

TEST(Doctor, NothingKnownIsSaidPlainly) {
  test::FakeRoot root;
  const std::string text = doctorText(examineMachine(test::sourceOf({}), root.system()));
  for (const char *expected : {"features      none\n", "affinity      unknown\n",
                               "cpu quota     unknown\n", "memory limit  unknown\n"})
    EXPECT_THAT(text, HasSubstr(expected));
}

TEST(Doctor, HostReportIsNotEmpty) {
  EXPECT_THAT(doctorText(examineMachine(hostCpuid(), SystemRoot{})), HasSubstr("threads"));
}

} // namespace
} // namespace inf
