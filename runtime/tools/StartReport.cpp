#include "runtime/tools/StartReport.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/cpu/Memory.h"

namespace inf {
namespace {

double megabytes(uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }

} // namespace

double StartReport::sinceLast() {
  const Clock::time_point before = std::exchange(last, Clock::now());
  return std::chrono::duration<double>(last - before).count();
}

void StartReport::loaded() { loadSeconds = sinceLast(); }
void StartReport::sessionBegins() { otherSeconds = sinceLast(); }
void StartReport::sessionMade() { sessionSeconds = sinceLast(); }

std::string StartReport::timesText(const Model &model, const GenerateResult &result,
                                   bool compiles) const {
  const LoadTimes &load = model.loadTimes();
  // What of the load wasn't the model's: choosing threads, and compiling where that was asked for.
  const double rest = std::max(0.0, loadSeconds - load.verify - load.tokenizer - load.map);
  const double whole = loadSeconds + otherSeconds + sessionSeconds + result.firstTokenSeconds;
  const std::string compile = compiles ? fmt::format("compile {:.1f}, ", rest * 1e3) : "";
  return fmt::format("first token after {:.1f} ms: {}verify {:.1f}, tokenizer {:.1f}, {}, session "
                     "{:.1f}, prefill {:.1f}, other {:.1f}",
                     whole * 1e3, compile, load.verify * 1e3, load.tokenizer * 1e3, mapText(model),
                     sessionSeconds * 1e3, result.firstTokenSeconds * 1e3,
                     (otherSeconds + (compiles ? 0 : rest)) * 1e3);
}

std::string mapText(const Model &model) {
  const double seconds = model.loadTimes().map;
  if (model.loadChoice().mode == LoadMode::Map || seconds <= 0)
    return fmt::format("map {:.1f}", seconds * 1e3);
  return fmt::format("copy {:.1f} ({:.2f} GB/s)", seconds * 1e3,
                     static_cast<double>(model.weights().size()) / 1e9 / seconds);
}

std::string memoryText(const Session &session) {
  const uint64_t weights = session.model().weights().size();
  const SessionMemory taken = session.memory();
  const uint64_t ours = weights + taken.keysAndValues + taken.step;
  const uint64_t all = std::max(ours, addressSpaceBytes().value_or(ours));
  return fmt::format("address space {:.1f} MB: program {:.1f}, weights {:.1f}, keys and values "
                     "{:.1f}, step {:.1f}",
                     megabytes(all), megabytes(all - ours), megabytes(weights),
                     megabytes(taken.keysAndValues), megabytes(taken.step));
}

} // namespace inf
