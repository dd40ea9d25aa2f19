// The table a person reads.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/tools/bench/BenchReport.h"

namespace inf {
namespace {

constexpr size_t mostStageRows = 24; // a screen; JSON has them all

std::string what(RunKind kind, uint64_t tokens, uint64_t context, uint64_t batch) {
  std::string text = fmt::format("{} {}", kind == RunKind::Prefill ? "prefill" : "decode", tokens);
  if (context != 0)
    text += fmt::format(" at {}", context);
  if (batch != 1)
    text += fmt::format(" x {}", batch);
  return text;
}

std::string percent(std::optional<double> share) {
  return share ? fmt::format("{:.1f} %", *share * 100) : "-";
}

std::string gbPerSecond(const BenchRun &run) {
  return fmt::format("{}{:.2f}", run.bytesExact ? "" : "<=", run.bytesPerSecond() / 1e9);
}

std::string topPerSecond(const BenchRun &run) {
  const std::optional<double> rate = run.operationsPerSecond();
  return rate ? fmt::format("{:.3f}", *rate / 1e12) : "-";
}

std::string roofLine(const RoofReport &roof) {
  std::string loops;
  for (size_t kind = 0; kind < readKinds; ++kind)
    loops += fmt::format("{}{} {:.2f}", kind == 0 ? "" : ", ", readKindNames[kind],
                         roof.byLoop[kind] / 1e9);
  std::string peaks;
  for (DotKind kind : {DotKind::Int8, DotKind::Bf16, DotKind::F32})
    peaks += fmt::format(", {} {:.3f} {} ({})", dotKindName(kind), peakOf(roof, kind).best / 1e12,
                         kind == DotKind::Int8 ? "TOP/s" : "TFLOP/s",
                         roof.loops[static_cast<size_t>(kind)]);
  return fmt::format(
      "roof {:.2f} GB/s ({}; median {:.2f}){}; best of {} samples between the runs\n{}",
      roof.bandwidth.best / 1e9, loops, roof.bandwidth.now / 1e9, peaks, roof.samples,
      roof.mappedFitsCache ? "     the weights fit into the cache: the mapped loops measure it\n"
                           : "");
}

std::string runLines(const ThreadResult &result, DotKind products) {
  std::string text = fmt::format("{:<28} {:>10} {:>10} {:>8} {:>8} {:>8}\n", "what", "tok/s",
                                 "GB/s", "of roof", "TOP/s", "of roof");
  for (const BenchRun &run : result.runs)
    text += fmt::format("{:<28} {:>10.2f} {:>10} {:>8} {:>8} {:>8}\n",
                        what(run.kind, run.tokens, run.context, run.batch), run.tokensPerSecond(),
                        gbPerSecond(run), percent(bandwidthFraction(run, result.roof)),
                        topPerSecond(run), percent(computeFraction(run, result.roof, products)));
  return text;
}

std::string sweepLines(const BenchReport &report) {
  std::string text;
  for (const ThreadResult &result : report.sweep)
    text +=
        fmt::format("\n{} threads\n{}{}", result.plan.threads,
                    result.roof ? roofLine(*result.roof) : "", runLines(result, report.products));
  return text + fmt::format("knee: {} threads, the fewest within 3 % of the best decoding\n",
                            report.result.plan.threads);
}

std::string stageLines(const StageTable &table) {
  std::vector<StageRow> rows = table.rows;
  std::stable_sort(rows.begin(), rows.end(), [](const StageRow &a, const StageRow &b) {
    return a.seconds + a.waitSeconds > b.seconds + b.waitSeconds;
  });
  double seconds = 0, wait = 0;
  for (const StageRow &row : rows) {
    seconds += row.seconds + row.waitSeconds;
    wait += row.waitSeconds;
  }
  std::string text = fmt::format(
      "stages of {}, {:.2f} ms, {:.1f} % of it thread 0 waiting at barriers\n"
      "{:<28} {:>10} {:>10} {:>10} {:>8}\n",
      what(table.kind, table.tokens, table.context, table.batch), seconds * 1e3,
      seconds > 0 ? wait / seconds * 100 : 0, "stage", "calls/tok", "ms", "wait ms", "share");
  for (size_t i = 0; i < std::min(rows.size(), mostStageRows); ++i)
    text += fmt::format("{:<28} {:>10.3f} {:>10.3f} {:>10.3f} {:>8}\n", rows[i].name,
                        rows[i].callsPerToken, rows[i].seconds * 1e3, rows[i].waitSeconds * 1e3,
                        percent(rows[i].share));
  if (rows.size() > mostStageRows)
    text += fmt::format("and {} smaller ones (--json has all)\n", rows.size() - mostStageRows);
  return text;
}

} // namespace

std::string benchText(const BenchReport &report) {
  const ThreadResult &result = report.result;
  std::string text = fmt::format("{}\n{}\n", report.cpu, report.model);
  if (report.sweep.empty())
    text += (result.roof ? roofLine(*result.roof) : "") + runLines(result, report.products);
  else
    text += sweepLines(report);
  for (const StageTable &table : report.stages)
    text += stageLines(table);
  return text + fmt::format("\nthreads {} ({})\n{}medians of {}; {}TOP/s counts matrices, not "
                            "attention, against {}; peak memory {}\n",
                            result.plan.threads, result.plan.reason,
                            report.sameText ? "sequences of a batch hold one text; " : "",
                            report.repeat,
                            result.roof ? "shares of the better roof sample around each run; " : "",
                            dotKindName(report.products), report.peakMemory);
}

} // namespace inf
