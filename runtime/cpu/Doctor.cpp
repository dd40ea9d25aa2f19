#include "runtime/cpu/Doctor.h"

#include "runtime/cpu/Memory.h"

#include <fmt/format.h>

namespace inf {
namespace {

std::string bytesText(const std::optional<uint64_t> &bytes) {
  if (!bytes)
    return "unknown";
  constexpr double mebi = 1 << 20, gibi = 1 << 30;
  const auto value = static_cast<double>(*bytes);
  return value >= gibi ? fmt::format("{:.1f} GiB", value / gibi)
                       : fmt::format("{:.1f} MiB", value / mebi);
}

template <typename Value>
std::string limitText(const Limit<Value> &limit, const std::string &value) {
  if (limit.state == LimitState::Unknown)
    return "unknown";
  if (limit.state == LimitState::Unlimited)
    return "none";
  return fmt::format("{} ({})", value, limit.source);
}

std::string topologyText(const Topology &topology) {
  std::string text =
      fmt::format("{} CPUs, {} cores, sockets: {}, NUMA nodes: {}", topology.cpus.size(),
                  topology.coreCount(), topology.packageCount(), topology.nodeCount());
  if (topology.hybrid)
    text += fmt::format(", hybrid: {} P-cores and {} E-cores",
                        topology.coreCount(CoreKind::Performance),
                        topology.coreCount(CoreKind::Efficient));
  return text;
}

void line(std::string &text, std::string_view name, std::string_view value) {
  text += fmt::format("{:<14}{}\n", name, value);
}

void lines(std::string &text, std::string_view name, const std::vector<std::string> &values) {
  for (const std::string &value : values)
    line(text, name, value);
}

void appendLimits(std::string &text, const DoctorReport &report) {
  const Limits &limits = report.limits;
  line(text, "affinity", limitText(limits.affinity, formatCpuList(limits.affinity.value)));
  line(text, "cpuset", limitText(limits.cpuset, formatCpuList(limits.cpuset.value)));
  line(text, "cpu quota",
       limitText(limits.quota, fmt::format("{:.4g} CPUs", limits.quota.value.cpus())));
  line(text, "memory", fmt::format("{} in this machine", bytesText(report.physicalMemory)));
  line(text, "memory limit", limitText(limits.memory, bytesText(limits.memory.value)));
  line(text, "memory peak", fmt::format("{} by this process", bytesText(report.peakResident)));
  lines(text, "  notice", limits.notices);
}

} // namespace

DoctorReport examineMachine(const CpuidSource &cpuid, const SystemRoot &system,
                            std::optional<unsigned> requested, std::span<const int> bind) {
  DoctorReport report;
  report.features = detectFeatures(cpuid);
  report.topology = readTopology(system);
  report.limits = readLimits(system);
  report.plan = planThreads(report.topology, report.limits, requested, bind);
  report.physicalMemory = physicalMemoryBytes(system);
  report.peakResident = peakResidentBytes(system);
  return report;
}

std::string doctorText(const DoctorReport &report) {
  const CpuFeatures &features = report.features;
  std::string text;
  line(text, "cpu", features.brand.empty() ? "unknown" : features.brand);
  line(text, "vendor", features.vendor.empty() ? "unknown" : features.vendor);
  line(text, "features", features.usable.empty() ? "none" : features.usable.toString());
  lines(text, "  notice", features.notices);
  line(text, "topology", topologyText(report.topology));
  lines(text, "  notice", report.topology.notices);
  appendLimits(text, report);
  line(text, "threads", report.plan.reason);
  line(text, "  on CPUs",
       fmt::format("{} ({})", fmt::join(report.plan.cpus, ","),
                   report.plan.pin ? "bound" : "not bound"));
  lines(text, "  warning", report.plan.warnings);
  return text;
}

} // namespace inf
