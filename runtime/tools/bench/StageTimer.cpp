#include "runtime/tools/bench/StageTimer.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/base/Error.h"

namespace inf {
namespace {

double secondsBetween(std::chrono::steady_clock::time_point from,
                      std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

StageRow &rowNamed(std::vector<StageRow> &rows, const std::string &name) {
  auto found =
      std::find_if(rows.begin(), rows.end(), [&](const StageRow &row) { return row.name == name; });
  if (found != rows.end())
    return *found;
  rows.push_back({.name = name});
  return rows.back();
}

} // namespace

StageTimer::StageTimer(size_t stages) : sums(std::max<size_t>(stages, 1)) {}

BarrierHook StageTimer::hook() {
  return {this, [](void *self) { static_cast<StageTimer *>(self)->arrive(); },
          [](void *self) { static_cast<StageTimer *>(self)->leave(); }};
}

void StageTimer::begin() {
  at = 0;
  last = Clock::now();
}

void StageTimer::arrive() {
  const Clock::time_point now = Clock::now();
  sums[at].seconds += secondsBetween(last, now);
  last = now;
}

void StageTimer::leave() {
  const Clock::time_point now = Clock::now();
  sums[at].waitSeconds += secondsBetween(last, now);
  last = now;
  at = std::min(at + 1, sums.size() - 1);
}

void StageTimer::end() {
  arrive();
  used = std::max(used, at + 1);
  ++stepCount;
}

std::vector<StageTime> StageTimer::times() const {
  return {sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(used)};
}

void StageTimer::clear() {
  std::fill(sums.begin(), sums.end(), StageTime());
  used = 0;
  stepCount = 0;
}

std::vector<StageRow> stageRows(const std::vector<StageTime> &times,
                                const std::vector<Stage> &names, uint64_t steps, uint64_t tokens) {
  if (!names.empty() && names.size() != times.size())
    fail(ErrorCode::BadInput,
         "the model names {} stages, but its step had {}. Compile the model again.", names.size(),
         times.size());
  std::vector<StageRow> rows;
  double total = 0;
  for (size_t i = 0; i < times.size(); ++i) {
    StageRow &row = rowNamed(rows, names.empty() ? fmt::format("stage {}", i) : names[i].name);
    ++row.stages;
    row.seconds += times[i].seconds;
    row.waitSeconds += times[i].waitSeconds;
    total += times[i].seconds + times[i].waitSeconds;
  }
  for (StageRow &row : rows) {
    row.callsPerToken = tokens == 0 ? 0 : double(row.stages * steps) / double(tokens);
    row.share = total > 0 ? (row.seconds + row.waitSeconds) / total : 0;
  }
  return rows;
}

} // namespace inf
