// infrun doctor: what this machine offers, what limits it, and what infrun would choose.
#include <nlohmann/json.hpp>

#include "runtime/cpu/Doctor.h"
#include "runtime/loader/CheckMachine.h"
#include "runtime/tools/Commands.h"

namespace inf {
namespace {

constexpr std::string_view help =
    R"(Usage: infrun doctor [--json]
Prints the CPU's features (and those it reports but may not use), the cores, the
limits of affinity, cpuset and quota, and the threads that infrun would run.
  --json             print one JSON object
  --help             print this
Example: infrun doctor
)";

using Json = nlohmann::ordered_json;

Json bytesOrNull(const std::optional<uint64_t> &bytes) { return bytes ? Json(*bytes) : Json(); }

std::string stateName(LimitState state) {
  switch (state) {
  case LimitState::Unknown:
    return "unknown";
  case LimitState::Unlimited:
    return "unlimited";
  case LimitState::Limited:
    return "limited";
  }
  return "unknown";
}

template <typename Value> Json limitJson(const Limit<Value> &limit, const Json &value) {
  Json object = {{"state", stateName(limit.state)}};
  if (limit.limited()) {
    object["value"] = value;
    object["source"] = limit.source;
  }
  return object;
}

Json limitsJson(const Limits &limits) {
  return {{"affinity", limitJson(limits.affinity, limits.affinity.value)},
          {"cpuset", limitJson(limits.cpuset, limits.cpuset.value)},
          {"quota_cpus", limitJson(limits.quota, limits.quota.value.cpus())},
          {"memory_bytes", limitJson(limits.memory, limits.memory.value)},
          {"notices", limits.notices}};
}

Json topologyJson(const Topology &topology) {
  return {{"cpus", topology.cpus.size()},        {"cores", topology.coreCount()},
          {"packages", topology.packageCount()}, {"nodes", topology.nodeCount()},
          {"hybrid", topology.hybrid},           {"notices", topology.notices}};
}

Json reportJson(const DoctorReport &report) {
  return {{"version", INF_VERSION},
          {"cpu",
           {{"vendor", report.features.vendor},
            {"brand", report.features.brand},
            {"features", report.features.usable.names()},
            {"notices", report.features.notices}}},
          {"target", suggestedTarget(report.features.usable)},
          {"topology", topologyJson(report.topology)},
          {"limits", limitsJson(report.limits)},
          {"threads",
           {{"count", report.plan.threads},
            {"cpus", report.plan.cpus},
            {"pin", report.plan.pin},
            {"reason", report.plan.reason},
            {"warnings", report.plan.warnings}}},
          {"physical_memory_bytes", bytesOrNull(report.physicalMemory)}};
}

} // namespace

int doctorCommand(Arguments arguments, Output &out) {
  CLI::App app("", "infrun doctor");
  bool json = false;
  app.add_flag("--json", json);
  if (!parseArguments(app, help, std::move(arguments), out))
    return 0;
  DoctorReport report = examineMachine(hostCpuid(), SystemRoot{});
  out.write(json ? reportJson(report).dump(2) + "\n" : doctorText(report));
  return 0;
}

} // namespace inf
