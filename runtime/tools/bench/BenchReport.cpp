#include "runtime/tools/bench/BenchReport.h"

#include <algorithm>

namespace inf {

std::optional<double> bandwidthFraction(const BenchRun &run,
                                        const std::optional<RoofReport> &roof) {
  if (!roof || !run.bytesExact || roof->bandwidth.best <= 0)
    return std::nullopt;
  return run.bandwidthFraction();
}

std::optional<double> computeFraction(const BenchRun &run, const std::optional<RoofReport> &roof,
                                      DotKind products) {
  return roof ? run.operationsFraction(products) : std::nullopt;
}

double sweepRate(const ThreadResult &result) {
  if (result.runs.empty())
    return 0;
  const auto decode = std::find_if(result.runs.begin(), result.runs.end(),
                                   [](const auto &run) { return run.kind == RunKind::Decode; });
  return (decode == result.runs.end() ? result.runs.front() : *decode).tokensPerSecond();
}

} // namespace inf
