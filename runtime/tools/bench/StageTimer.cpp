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

std::vector<StageTime> StageSums::times() const {
  return {sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(used)};
}

void StageSums::clear() {
  std::fill(sums.begin(), sums.end(), StageTime());
  used = 0;
  steps = 0;
}

BarrierHook StageTimer::hook() {
  return {this, [](void *self) { static_cast<StageTimer *>(self)->arrive(); },
          [](void *self) { static_cast<StageTimer *>(self)->leave(); }};
}

void StageTimer::begin(StageSums &sums) {
  into = &sums;
  at = 0;
  last = Clock::now();
}

void StageTimer::arrive() {
  const Clock::time_point now = Clock::now();
  into->sums[at].seconds += secondsBetween(last, now);
  last = now;
}

void StageTimer::leave() {
  const Clock::time_point now = Clock::now();
  into->sums[at].waitSeconds += secondsBetween(last, now);
  last = now;
  at = std::min(at + 1, into->sums.size() - 1);
}

void StageTimer::end() {
  arrive();
  into->used = std::max(into->used, at + 1);
  ++into->steps;
  into = &nobody;
  at = 0;
}

std::vector<StageRow> stageRows(const StageSums &sums, const std::vector<Stage> &names,
                                uint64_t tokens) {
  const std::vector<StageTime> times = sums.times();
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
    row.callsPerToken = tokens == 0 ? 0 : double(row.stages * sums.steps) / double(tokens);
    row.share = total > 0 ? (row.seconds + row.waitSeconds) / total : 0;
  }
  return rows;
}

} // namespace inf
