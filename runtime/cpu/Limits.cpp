#include "runtime/cpu/Limits.h"

#include "runtime/cpu/Cgroup.h"

#include <charconv>
#include <functional>

#include <fmt/format.h>

namespace inf {
namespace {

/// What one directory says: nothing (file absent), no limit, a limit, or garbage.
enum class Reading { Absent, Unlimited, Limited, Garbage };

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.remove_suffix(1);
  return text;
}

std::optional<uint64_t> parseNumber(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

Reading makeQuota(std::string_view quota, std::string_view period, CpuQuota &value) {
  const std::optional<uint64_t> quotaMicros = parseNumber(quota),
                                periodMicros = parseNumber(period);
  if (!quotaMicros || !periodMicros || *quotaMicros == 0 || *periodMicros == 0)
    return Reading::Garbage;
  value = {*quotaMicros, *periodMicros};
  return Reading::Limited;
}

/// v2 "max 100000" or "200000 100000".
Reading readCpuMax(const SystemRoot &system, const std::string &directory, CpuQuota &value) {
  const std::optional<std::string> text = system.read(directory + "/cpu.max");
  if (!text)
    return Reading::Absent;
  const std::string_view line = trim(*text);
  const size_t space = line.find(' ');
  if (space == std::string_view::npos)
    return Reading::Garbage;
  if (line.substr(0, space) == "max")
    return Reading::Unlimited;
  return makeQuota(line.substr(0, space), line.substr(space + 1), value);
}

/// v1: two files, a quota of -1 for none.
Reading readCfsQuota(const SystemRoot &system, const std::string &directory, CpuQuota &value) {
  const std::optional<std::string> quota = system.read(directory + "/cpu.cfs_quota_us");
  if (!quota)
    return Reading::Absent;
  if (trim(*quota) == "-1")
    return Reading::Unlimited;
  const std::optional<std::string> period = system.read(directory + "/cpu.cfs_period_us");
  return period ? makeQuota(trim(*quota), trim(*period), value) : Reading::Garbage;
}

/// v2 says "max"; v1's "none" is the largest number of pages in bytes, hence "absurdly large".
Reading readMemory(const SystemRoot &system, const std::string &path, uint64_t &value) {
  constexpr uint64_t absurd = uint64_t{1} << 60;
  const std::optional<std::string> text = system.read(path);
  if (!text)
    return Reading::Absent;
  if (trim(*text) == "max")
    return Reading::Unlimited;
  const std::optional<uint64_t> bytes = parseNumber(trim(*text));
  if (!bytes)
    return Reading::Garbage;
  value = *bytes;
  return value >= absurd ? Reading::Unlimited : Reading::Limited;
}

/// An empty list means "as my parent", so it reads as absent and the walk goes on upwards.
Reading readCpuset(const SystemRoot &system, const std::string &path, CpuList &value) {
  const std::optional<std::string> text = system.read(path);
  if (!text)
    return Reading::Absent;
  const std::optional<CpuList> list = parseCpuList(*text);
  if (!list)
    return Reading::Garbage;
  value = *list;
  return value.empty() ? Reading::Absent : Reading::Limited;
}

/// One kind of limit: how to read it in a directory and which of two is tighter.
template <typename Value> struct Rule {
  std::string_view controller;
  std::string_view what;           ///< for notices
  std::string_view fileV1, fileV2; ///< names, for `source`
  std::function<Reading(int version, const std::string &directory, Value &)> read;
  std::function<bool(const Value &, const Value &)> tighter;
};

/// Our own group and every ancestor bind us; the tightest wins.
template <typename Value>
Limit<Value> walk(const SystemRoot &system, const Cgroups &groups, const Rule<Value> &rule,
                  std::vector<std::string> &notices) {
  Limit<Value> limit;
  const std::optional<CgroupPath> path = groups.find(system, rule.controller);
  if (!path) {
    notices.push_back(fmt::format("{} is unknown: no mounted cgroup of this process for it (see "
                                  "/proc/self/mountinfo, /proc/self/cgroup)",
                                  rule.what));
    return limit;
  }
  const std::string_view file = path->version == 1 ? rule.fileV1 : rule.fileV2;
  bool garbage = false;
  for (const std::string &directory : path->directories) {
    Value value = {};
    const Reading reading = rule.read(path->version, directory, value);
    if (reading == Reading::Garbage) {
      garbage = true;
      notices.push_back(
          fmt::format("{}: {}/{} is garbage and is ignored", rule.what, directory, file));
    }
    if (reading != Reading::Limited || (limit.limited() && !rule.tighter(value, limit.value)))
      continue;
    limit = {LimitState::Limited, value, fmt::format("{}/{}", directory, file)};
  }
  if (!path->exact)
    notices.push_back(
        fmt::format("{}: the cgroup of this process is not visible below {}, only the "
                    "limits at the mount point are known",
                    rule.what, path->directories.back()));
  if (!limit.limited() && !garbage && path->exact)
    limit.state = LimitState::Unlimited;
  return limit;
}

Limit<CpuList> readAffinity(const SystemRoot &system, std::vector<std::string> &notices) {
  const std::optional<CpuList> mask = system.affinityMask();
  if (mask && !mask->empty())
    return {LimitState::Limited, *mask, "sched_getaffinity"};
  notices.push_back("the affinity mask is unknown: sched_getaffinity gave none");
  return {};
}

} // namespace

Limits readLimits(const SystemRoot &system) {
  const Cgroups groups = readCgroups(system);
  const Rule<CpuList> cpuset = {
      "cpuset", "the cpuset", "cpuset.cpus", "cpuset.cpus.effective",
      [&](int version, const std::string &directory, CpuList &value) {
        const char *file = version == 1 ? "/cpuset.cpus" : "/cpuset.cpus.effective";
        return readCpuset(system, directory + file, value);
      },
      // The nearest list is the effective one: it is a part of each ancestor's already.
      [](const CpuList &, const CpuList &) { return false; }};
  const Rule<CpuQuota> quota = {
      "cpu",
      "the CPU quota",
      "cpu.cfs_quota_us",
      "cpu.max",
      [&](int version, const std::string &directory, CpuQuota &value) {
        return version == 1 ? readCfsQuota(system, directory, value)
                            : readCpuMax(system, directory, value);
      },
      [](const CpuQuota &a, const CpuQuota &b) { return a.cpus() < b.cpus(); }};
  const Rule<uint64_t> memory = {"memory",
                                 "the memory limit",
                                 "memory.limit_in_bytes",
                                 "memory.max",
                                 [&](int version, const std::string &directory, uint64_t &value) {
                                   const char *file =
                                       version == 1 ? "/memory.limit_in_bytes" : "/memory.max";
                                   return readMemory(system, directory + file, value);
                                 },
                                 [](uint64_t a, uint64_t b) { return a < b; }};
  Limits limits;
  limits.affinity = readAffinity(system, limits.notices);
  limits.cpuset = walk(system, groups, cpuset, limits.notices);
  limits.quota = walk(system, groups, quota, limits.notices);
  limits.memory = walk(system, groups, memory, limits.notices);
  return limits;
}

} // namespace inf
