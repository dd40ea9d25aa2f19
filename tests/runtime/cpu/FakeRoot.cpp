#include "tests/runtime/cpu/FakeRoot.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

namespace inf::test {

FakeRoot::FakeRoot() {
  std::string pattern = (std::filesystem::temp_directory_path() / "inf-root-XXXXXX").string();
  if (!mkdtemp(pattern.data()))
    throw std::runtime_error("cannot make a temporary directory " + pattern);
  directory = pattern;
}

FakeRoot::~FakeRoot() {
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
}

void FakeRoot::makeDirectory(const std::string &path) {
  std::filesystem::create_directories(directory + path);
}

void FakeRoot::write(const std::string &path, const std::string &text) {
  std::filesystem::create_directories(std::filesystem::path(directory + path).parent_path());
  std::ofstream(directory + path, std::ios::binary) << text;
}

void FakeRoot::addCpu(int cpu, const std::string &siblings, int core, int package) {
  const std::string at = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", cpu);
  write(at + "thread_siblings_list", siblings + "\n");
  write(at + "core_id", fmt::format("{}\n", core));
  write(at + "physical_package_id", fmt::format("{}\n", package));
}

void FakeRoot::addNode(int node, const std::string &cpus) {
  write(fmt::format("/sys/devices/system/node/node{}/cpulist", node), cpus + "\n");
}

void FakeRoot::addSmtMachine(int cores, int threadsPerCore) {
  const int count = cores * threadsPerCore;
  const std::string all = fmt::format("0-{}\n", count - 1);
  write("/sys/devices/system/cpu/online", all);
  write("/sys/devices/system/node/online", "0\n");
  addNode(0, all);
  for (int cpu = 0; cpu < count; ++cpu) {
    std::string siblings;
    for (int other = cpu % cores; other < count; other += cores)
      siblings += fmt::format("{}{}", siblings.empty() ? "" : ",", other);
    addCpu(cpu, siblings, cpu % cores, 0);
  }
}

void FakeRoot::addCgroupV2(const std::string &own) {
  mountinfo += "40 30 0:29 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
  cgroup += fmt::format("0::{}\n", own);
  write("/proc/self/mountinfo", mountinfo);
  write("/proc/self/cgroup", cgroup);
  makeDirectory("/sys/fs/cgroup" + own);
}

void FakeRoot::addCgroupV1(const std::vector<std::string> &controllers, const std::string &own) {
  for (const std::string &name : controllers) {
    mountinfo +=
        fmt::format("41 30 0:30 / /sys/fs/cgroup/{0} rw,relatime - cgroup cgroup rw,{0}\n", name);
    cgroup += fmt::format("7:{}:{}\n", name, own);
    makeDirectory("/sys/fs/cgroup/" + name + own);
  }
  write("/proc/self/mountinfo", mountinfo);
  write("/proc/self/cgroup", cgroup);
}

SystemRoot FakeRoot::system(const std::string &affinity) const {
  SystemRoot system;
  system.root = directory;
  if (!affinity.empty())
    system.affinity = parseCpuList(affinity);
  return system;
}

} // namespace inf::test
