#include "runtime/cpu/Topology.h"

#include <charconv>
#include <functional>
#include <set>

#include <fmt/format.h>

namespace inf {
namespace {

constexpr std::string_view cpuDirectory = "/sys/devices/system/cpu";
constexpr std::string_view nodeDirectory = "/sys/devices/system/node";

std::optional<CpuList> readList(const SystemRoot &system, const std::string &path) {
  const std::optional<std::string> text = system.read(path);
  if (!text)
    return std::nullopt;
  std::optional<CpuList> list = parseCpuList(*text);
  return list && !list->empty() ? list : std::nullopt;
}

std::optional<int> readInt(const SystemRoot &system, const std::string &path) {
  const std::optional<std::string> text = system.read(path);
  int value = 0;
  if (!text || text->empty() ||
      std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc())
    return std::nullopt;
  return value;
}

CpuList onlineCpus(const SystemRoot &system, std::vector<std::string> &notices) {
  if (std::optional<CpuList> online = readList(system, fmt::format("{}/online", cpuDirectory)))
    return *online;
  if (std::optional<CpuList> mask = system.affinityMask(); mask && !mask->empty()) {
    notices.push_back(fmt::format("online CPUs are unknown ({}/online is missing or not a CPU "
                                  "list); taking the affinity mask {}",
                                  cpuDirectory, formatCpuList(*mask)));
    return *mask;
  }
  notices.push_back(fmt::format("online CPUs are unknown ({}/online is missing or not a CPU list, "
                                "and there is no affinity mask); taking CPU 0 alone",
                                cpuDirectory));
  return {0};
}

/// Fills core and package; false when there is no usable sibling list. The list decides, not
/// core_id: core_id repeats between sockets, and on some CPUs between dies.
bool readCore(const SystemRoot &system, LogicalCpu &cpu) {
  const std::string directory = fmt::format("{}/cpu{}/topology", cpuDirectory, cpu.id);
  cpu.package = readInt(system, directory + "/physical_package_id").value_or(0);
  const std::optional<CpuList> siblings = readList(system, directory + "/thread_siblings_list");
  if (!siblings || !contains(*siblings, cpu.id))
    return false;
  cpu.core = siblings->front();
  return true;
}

void readCores(const SystemRoot &system, Topology &topology) {
  CpuList unknown;
  for (LogicalCpu &cpu : topology.cpus)
    if (!readCore(system, cpu))
      unknown.push_back(cpu.id);
  if (!unknown.empty())
    topology.notices.push_back(
        fmt::format("SMT siblings of CPU {} are unknown ({}/cpuN/topology/thread_siblings_list is "
                    "missing or garbage); counting each as a core of its own",
                    formatCpuList(unknown), cpuDirectory));
}

/// Linux names the PMU of the P-cores cpu_core on hybrid machines and has no such file elsewhere.
/// Whatever is not in it (E-cores, low-power E-cores) is slower.
void readKinds(const SystemRoot &system, Topology &topology) {
  const std::string path = "/sys/devices/cpu_core/cpus";
  if (!system.read(path))
    return;
  const std::optional<CpuList> performance = readList(system, path);
  if (!performance || intersect(*performance, topology.ids()).empty()) {
    topology.notices.push_back(fmt::format(
        "kinds of cores are unknown ({} names no online CPU); treating all alike", path));
    return;
  }
  for (LogicalCpu &cpu : topology.cpus) {
    cpu.kind = contains(*performance, cpu.id) ? CoreKind::Performance : CoreKind::Efficient;
    topology.hybrid |= cpu.kind == CoreKind::Efficient;
  }
}

void readNodes(const SystemRoot &system, Topology &topology) {
  const std::optional<CpuList> nodes = readList(system, fmt::format("{}/online", nodeDirectory));
  if (!nodes) {
    topology.notices.push_back(fmt::format(
        "NUMA nodes are unknown ({}/online is missing or garbage); assuming one", nodeDirectory));
    return;
  }
  for (const int node : *nodes) {
    const std::string path = fmt::format("{}/node{}/cpulist", nodeDirectory, node);
    const std::optional<std::string> text = system.read(path);
    const std::optional<CpuList> list = text ? parseCpuList(*text) : std::nullopt;
    if (!list) // an empty list is a node of memory only: fine
      topology.notices.push_back(
          fmt::format("CPUs of NUMA node {} are unknown ({} is missing or garbage)", node, path));
    for (LogicalCpu &cpu : topology.cpus)
      if (list && contains(*list, cpu.id))
        cpu.node = node;
  }
}

unsigned countDistinct(const Topology &topology, const std::function<int(const LogicalCpu &)> &of) {
  std::set<int> seen;
  for (const LogicalCpu &cpu : topology.cpus)
    seen.insert(of(cpu));
  return static_cast<unsigned>(seen.size());
}

} // namespace

unsigned Topology::coreCount() const {
  return countDistinct(*this, [](const LogicalCpu &cpu) { return cpu.core; });
}

unsigned Topology::coreCount(CoreKind kind) const {
  std::set<int> cores;
  for (const LogicalCpu &cpu : cpus)
    if (cpu.kind == kind)
      cores.insert(cpu.core);
  return static_cast<unsigned>(cores.size());
}

unsigned Topology::packageCount() const {
  return countDistinct(*this, [](const LogicalCpu &cpu) { return cpu.package; });
}

unsigned Topology::nodeCount() const {
  return countDistinct(*this, [](const LogicalCpu &cpu) { return cpu.node; });
}

CpuList Topology::ids() const {
  CpuList list;
  for (const LogicalCpu &cpu : cpus)
    list.push_back(cpu.id);
  return list;
}

Topology readTopology(const SystemRoot &system) {
  Topology topology;
  for (const int id : onlineCpus(system, topology.notices))
    topology.cpus.push_back({.id = id, .core = id});
  readCores(system, topology);
  readKinds(system, topology);
  readNodes(system, topology);
  return topology;
}

} // namespace inf
