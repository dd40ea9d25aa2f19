#include "runtime/cpu/ThreadPlan.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace inf {
namespace {

/// The CPUs we may use and the limits that shaped them.
struct Allowed {
  CpuList cpus;
  std::string limitedBy; ///< "the cpuset (0-1)": the last limit that took CPUs away; or empty
  std::vector<std::string> warnings;
};

void apply(const Limit<CpuList> &limit, std::string_view name, Allowed &allowed) {
  if (!limit.limited())
    return;
  const CpuList rest = intersect(allowed.cpus, limit.value);
  if (rest.empty()) {
    // The kernel keeps these consistent; only misleading files (a container showing another
    // machine's /sys) get here. Running somewhere beats refusing to run.
    allowed.warnings.push_back(fmt::format("{} ({}, from {}) shares no CPU with {}; ignoring it",
                                           name, formatCpuList(limit.value), limit.source,
                                           formatCpuList(allowed.cpus)));
    return;
  }
  if (rest.size() < allowed.cpus.size())
    allowed.limitedBy =
        fmt::format("{} ({}, from {})", name, formatCpuList(limit.value), limit.source);
  allowed.cpus = rest;
}

Allowed allowedCpus(const Topology &topology, const Limits &limits) {
  Allowed allowed;
  allowed.cpus = topology.ids();
  apply(limits.cpuset, "the cpuset", allowed);
  apply(limits.affinity, "the affinity mask", allowed);
  return allowed;
}

/// Distinct physical cores first, P-cores before E-cores, node after node, siblings last.
std::vector<LogicalCpu> usageOrder(const Topology &topology, const CpuList &allowed) {
  using Key = std::tuple<int, CoreKind, int, int>; // rank among siblings, kind, node, id
  std::vector<std::pair<Key, LogicalCpu>> keyed;
  std::map<int, int> taken; // core → siblings so far
  for (const LogicalCpu &cpu : topology.cpus)
    if (contains(allowed, cpu.id))
      keyed.push_back({{taken[cpu.core]++, cpu.kind, cpu.node, cpu.id}, cpu});
  std::sort(keyed.begin(), keyed.end(),
            [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<LogicalCpu> order;
  for (const auto &[key, cpu] : keyed)
    order.push_back(cpu);
  return order;
}

struct Cores {
  unsigned count = 0;
  std::string_view name; ///< "physical cores", "P-cores", "E-cores"
};

/// The cores that the default uses: P-cores alone when a hybrid machine lets us have any.
Cores defaultCores(const Topology &topology, const std::vector<LogicalCpu> &order) {
  std::set<int> all, performance;
  for (const LogicalCpu &cpu : order) {
    all.insert(cpu.core);
    if (cpu.kind == CoreKind::Performance)
      performance.insert(cpu.core);
  }
  if (!topology.hybrid)
    return {static_cast<unsigned>(all.size()), "physical cores"};
  if (performance.empty())
    return {static_cast<unsigned>(all.size()), "E-cores"};
  return {static_cast<unsigned>(performance.size()), "P-cores"};
}

/// Rounded down, at least 1: with a quota of 1.5 CPUs, two threads use up each period's quota after
/// three quarters of it and the whole group is then stopped until the next; every barrier waits for
/// that. One thread less never gets stopped.
unsigned quotaThreads(const CpuQuota &quota) {
  return static_cast<unsigned>(
      std::clamp<uint64_t>(quota.quotaMicros / quota.periodMicros, 1, maxThreads));
}

std::string quotaText(const Limit<CpuQuota> &quota) {
  return fmt::format("the CPU quota of {:.4g} CPUs ({})", quota.value.cpus(), quota.source);
}

void checkBindList(std::span<const int> bind, const CpuList &allowed) {
  CpuList seen;
  for (const int cpu : bind) {
    if (!contains(allowed, cpu))
      fail(ErrorCode::Usage,
           "the bind list names CPU {}, but this process may use only CPUs {}; choose from these",
           cpu, formatCpuList(allowed));
    const auto at = std::lower_bound(seen.begin(), seen.end(), cpu);
    if (at != seen.end() && *at == cpu)
      fail(ErrorCode::Usage, "the bind list names CPU {} twice, expected distinct CPUs; remove one",
           cpu);
    seen.insert(at, cpu);
  }
}

/// `names` is what the usable CPUs are called, for the warning.
void chooseRequested(ThreadPlan &plan, unsigned requested, const Limits &limits,
                     const std::string &names, size_t usable) {
  plan.threads = requested;
  plan.reason = fmt::format("{} thread{} as requested", requested, requested == 1 ? "" : "s");
  if (requested <= plan.capacity)
    return;
  const bool quotaIsTighter = plan.capacity < usable;
  plan.warnings.push_back(fmt::format(
      "{} threads were requested but {} leaves room for {}; they will wait for each other and run "
      "slower than {}",
      requested, quotaIsTighter ? quotaText(limits.quota) : names, plan.capacity, plan.capacity));
}

void chooseDefault(ThreadPlan &plan, const Cores &cores, const Limits &limits,
                   const std::string &limitedBy) {
  plan.threads = std::clamp(cores.count, 1u, maxThreads);
  if (limits.quota.limited() && quotaThreads(limits.quota.value) < plan.threads) {
    plan.threads = quotaThreads(limits.quota.value);
    plan.reason =
        fmt::format("{} chose {} thread{}, below the {} {} we may use", quotaText(limits.quota),
                    plan.threads, plan.threads == 1 ? "" : "s", cores.count, cores.name);
    return;
  }
  plan.reason = fmt::format("{} thread{}: one for each of the {} {} {}", plan.threads,
                            plan.threads == 1 ? "" : "s", cores.count, cores.name,
                            limitedBy.empty() ? "of this machine" : "left by " + limitedBy);
}

void chooseBound(ThreadPlan &plan, std::span<const int> bind, const Limits &limits) {
  plan.threads = static_cast<unsigned>(std::min<size_t>(bind.size(), maxThreads));
  plan.reason = fmt::format("{} thread{}: one for each CPU of the bind list", plan.threads,
                            plan.threads == 1 ? "" : "s");
  if (plan.threads > plan.capacity)
    plan.warnings.push_back(fmt::format(
        "the bind list has {} CPUs but {} leaves room for {}; its threads will wait for each other",
        plan.threads, quotaText(limits.quota), plan.capacity));
}

int nodeOf(const Topology &topology, int cpu) {
  for (const LogicalCpu &known : topology.cpus)
    if (known.id == cpu)
      return known.node;
  return 0;
}

} // namespace

ThreadPlan planThreads(const Topology &topology, const Limits &limits,
                       std::optional<unsigned> requested, std::span<const int> bind) {
  if (requested && (*requested == 0 || *requested > maxThreads))
    fail(ErrorCode::Usage,
         "{} threads were requested, expected 1 to {}; leave the number out to get "
         "one thread per core",
         *requested, maxThreads);
  const Allowed allowed = allowedCpus(topology, limits);
  checkBindList(bind, allowed.cpus);
  const std::vector<LogicalCpu> order = usageOrder(topology, allowed.cpus);

  ThreadPlan plan;
  plan.warnings = allowed.warnings;
  plan.cpus.assign(bind.begin(), bind.end());
  if (bind.empty())
    for (const LogicalCpu &cpu : order)
      plan.cpus.push_back(cpu.id);
  plan.capacity = static_cast<unsigned>(plan.cpus.size());
  if (limits.quota.limited())
    plan.capacity = std::min(plan.capacity, quotaThreads(limits.quota.value));
  plan.pin = !bind.empty() || plan.capacity == plan.cpus.size();

  if (requested)
    chooseRequested(plan, *requested, limits,
                    bind.empty() ? "the set of allowed CPUs " + formatCpuList(allowed.cpus)
                                 : "the bind list " + formatCpuList(bind),
                    plan.cpus.size());
  else if (!bind.empty())
    chooseBound(plan, bind, limits);
  else
    chooseDefault(plan, defaultCores(topology, order), limits, allowed.limitedBy);
  plan.cpus.resize(std::min<size_t>(plan.cpus.size(), plan.threads));
  for (const int cpu : plan.cpus)
    plan.nodes.push_back(nodeOf(topology, cpu));
  return plan;
}

ThreadPlan planThreads(const SystemRoot &system, std::optional<unsigned> requested,
                       std::span<const int> bind) {
  return planThreads(readTopology(system), readLimits(system), requested, bind);
}

} // namespace inf
