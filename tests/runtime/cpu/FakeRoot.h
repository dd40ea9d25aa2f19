// A machine made of files in a temporary directory.
#pragma once

#include "runtime/cpu/SystemRoot.h"

#include <string>
#include <vector>

namespace inf::test {

class FakeRoot {
public:
  FakeRoot(); ///< an empty directory, removed at the end
  ~FakeRoot();
  FakeRoot(const FakeRoot &) = delete;
  FakeRoot &operator=(const FakeRoot &) = delete;

  void write(const std::string &path, const std::string &text);
  void makeDirectory(const std::string &path);

  /// CPUs 0…, `threadsPerCore` for each core as Linux numbers them on PCs: the siblings of core c
  /// are c, c + cores, …; one socket, one NUMA node.
  void addSmtMachine(int cores, int threadsPerCore);
  void addCpu(int cpu, const std::string &siblings, int core, int package);
  void addNode(int node, const std::string &cpus);

  /// Mounts cgroup v2 at /sys/fs/cgroup with this process in `own` ("/" or "/a/b").
  void addCgroupV2(const std::string &own);
  /// Mounts v1 controllers at /sys/fs/cgroup/NAME, each with this process in `own`.
  void addCgroupV1(const std::vector<std::string> &controllers, const std::string &own);

  /// \param affinity cpulist text; empty for an unknown mask.
  SystemRoot system(const std::string &affinity = "") const;

private:
  std::string directory, mountinfo, cgroup;
};

} // namespace inf::test
