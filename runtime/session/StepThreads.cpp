#include "runtime/session/StepThreads.h"

#include <algorithm>

#include "runtime/session/Traffic.h"

namespace inf {
namespace {

bool areFew(std::span<const inf_row> rows) {
  return rows.size() <= StepThreads::fewRows &&
         std::none_of(rows.begin(), rows.end(),
                      [](const inf_row &row) { return row.row_class == INF_ROW_PROMPT; });
}

uint64_t bytesRead(const inf_model &model, uint64_t weightBytes, std::span<const inf_row> rows) {
  uint64_t bytes = weightBytes;
  for (const inf_row &row : rows)
    bytes += kvBytesRead(model, static_cast<uint64_t>(row.position));
  return bytes;
}

} // namespace

StepThreads::StepThreads(unsigned allThreads, bool search)
    : all(allThreads), searches(search && allThreads > 1 ? fewRows : 0, KneeSearch(allThreads)) {}

unsigned StepThreads::begin(const inf_model &model, uint64_t weightBytes,
                            std::span<const inf_row> rows) {
  running = nullptr;
  if ((searches.empty() && !fixed) || !areFew(rows))
    return all;
  if (fixed)
    return *fixed;
  running = &searches[rows.size() - 1];
  runningThreads = running->next();
  runningBytes = bytesRead(model, weightBytes, rows);
  began = Clock::now();
  return runningThreads;
}

void StepThreads::end() {
  if (running)
    running->ran(runningThreads, runningBytes,
                 std::chrono::duration<double>(Clock::now() - began).count());
  running = nullptr;
}

std::optional<StepThreadsReport> StepThreads::report() const {
  const auto most = std::max_element(
      searches.begin(), searches.end(),
      [](const KneeSearch &a, const KneeSearch &b) { return a.steps() < b.steps(); });
  if (most == searches.end() || most->steps() == 0)
    return std::nullopt;
  return StepThreadsReport{most->settled(), all, most->steps(), most->comparison()};
}

} // namespace inf
