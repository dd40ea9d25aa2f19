// The same for a program. docs/infrun.md lists the keys.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/tools/bench/BenchReport.h"

namespace inf {
namespace {

using Json = nlohmann::ordered_json;

Json orNull(std::optional<double> value) { return value ? Json(*value) : Json(nullptr); }

std::optional<double> inTera(std::optional<double> value) {
  return value ? std::optional(*value / 1e12) : std::nullopt;
}

std::string_view kindName(RunKind kind) { return kind == RunKind::Prefill ? "prefill" : "decode"; }

Json toJson(const RoofReport &roof) {
  Json loops = Json::object();
  for (size_t kind = 0; kind < readKinds; ++kind)
    loops[std::string(readKindNames[kind])] = roof.byLoop[kind] / 1e9;
  Json object = {{"bandwidth_gb_s", roof.bandwidth.best / 1e9},
                 {"bandwidth_now_gb_s", roof.bandwidth.now / 1e9},
                 {"bandwidth_by_loop", loops}};
  for (DotKind kind : {DotKind::Int8, DotKind::Bf16, DotKind::F32}) {
    const std::string name(dotKindName(kind)), unit = kind == DotKind::Int8 ? "top_s" : "tflop_s";
    const Peak &peak = peakOf(roof, kind);
    object[name + "_" + unit] = peak.best / 1e12;
    object[name + "_now_" + unit] = peak.now / 1e12;
    object[name + "_loop"] = roof.loops[static_cast<size_t>(kind)];
  }
  object["samples"] = roof.samples;
  object["anonymous_bytes"] = roof.anonymousBytes;
  object["mapped_bytes"] = roof.mappedBytes;
  object["mapped_fits_cache"] = roof.mappedFitsCache;
  return object;
}

Json toJson(const BenchRun &run, const std::optional<RoofReport> &roof, DotKind products) {
  return {{"kind", kindName(run.kind)},
          {"tokens", run.tokens},
          {"context", run.context},
          {"batch", run.batch},
          {"tok_s", run.tokensPerSecond()},
          {"gb_s", run.bytesPerSecond() / 1e9},
          {"bytes_upper_bound", !run.bytesExact},
          {"bandwidth_fraction", orNull(bandwidthFraction(run, roof))},
          {"top_s", orNull(inTera(run.operationsPerSecond()))},
          {"compute_fraction", orNull(computeFraction(run, roof, products))},
          {"seconds", run.seconds},
          {"logits_hash", fmt::format("{:016x}", run.hash)}};
}

Json toJson(const ThreadResult &result, DotKind products) {
  Json runs = Json::array();
  for (const BenchRun &run : result.runs)
    runs.push_back(toJson(run, result.roof, products));
  return {{"threads", result.plan.threads},
          {"threads_reason", result.plan.reason},
          {"roof", result.roof ? toJson(*result.roof) : Json(nullptr)},
          {"runs", runs}};
}

Json loadJson(const BenchReport &report) {
  return {{"mode", report.loadMode == LoadMode::Map ? "map" : "copy"},
          {"verify_ms", report.load.verify * 1e3},
          {"tokenizer_ms", report.load.tokenizer * 1e3},
          {"map_ms", report.load.map * 1e3}};
}

void addStages(Json &stages, const StageTable &table) {
  for (const StageRow &row : table.rows)
    stages.push_back({{"kind", kindName(table.kind)},
                      {"context", table.context},
                      {"batch", table.batch},
                      {"name", row.name},
                      {"stages", row.stages},
                      {"calls_per_token", row.callsPerToken},
                      {"ms", row.seconds * 1e3},
                      {"wait_ms", row.waitSeconds * 1e3},
                      {"share", row.share}});
}

} // namespace

std::string benchJson(const BenchReport &report) {
  Json object = {{"cpu", report.cpu},
                 {"version", INF_VERSION},
                 {"model", report.model},
                 {"build_id", report.buildId},
                 {"repeat", report.repeat},
                 {"compute_roof", dotKindName(report.products)},
                 {"same_text", report.sameText},
                 {"load", loadJson(report)}};
  object.update(toJson(report.result, report.products));
  if (!report.sweep.empty()) {
    object["knee"] = report.result.plan.threads;
    for (const ThreadResult &result : report.sweep)
      object["sweep"].push_back(toJson(result, report.products));
  }
  if (!report.stages.empty()) {
    object["stages"] = Json::array();
    for (const StageTable &table : report.stages)
      addStages(object["stages"], table);
  }
  return object.dump(2) + "\n";
}

} // namespace inf
