// What was measured, and how it is written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/cpu/ThreadPlan.h"
#include "runtime/roof/Roof.h"
#include "runtime/tools/bench/Runner.h"

namespace inf {

struct StageTable {
  RunKind kind = RunKind::Decode;
  uint64_t tokens = 0, context = 0, batch = 1;
  std::vector<StageRow> rows; ///< in the order of the barriers
};

/// All measurements with one count of threads.
struct ThreadResult {
  ThreadPlan plan;
  std::optional<RoofReport> roof;
  std::vector<BenchRun> runs;
};

struct BenchReport {
  std::string cpu, model;
  std::string buildId;    ///< of the model
  std::string peakMemory; ///< "1.25 GB"
  LoadTimes load;
  LoadMode loadMode = LoadMode::Map;
  uint64_t repeat = 0;
  bool sameText = false;           ///< BenchOptions
  DotKind products = DotKind::F32; ///< what compute is held against
  ThreadResult result;             ///< with the sweep: of the knee
  std::vector<ThreadResult> sweep; ///< ascending threads; empty without
  std::vector<StageTable> stages;
};

/// Shares of the roof; nullopt without a roof, and where only bounds are known.
std::optional<double> bandwidthFraction(const BenchRun &run, const std::optional<RoofReport> &roof);
std::optional<double> computeFraction(const BenchRun &run, const std::optional<RoofReport> &roof,
                                      DotKind products);

/// The rate that a knee is about: of the first decode run, or the first run without one.
double sweepRate(const ThreadResult &result);

std::string benchText(const BenchReport &report);
std::string benchJson(const BenchReport &report);

} // namespace inf
