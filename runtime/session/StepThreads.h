// How many threads of the pool each step runs on.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/abi/inf_abi.h"
#include "runtime/threads/KneeSearch.h"

namespace inf {

/// What the search has come to for the steps that ran most.
struct StepThreadsReport {
  unsigned threads = 0, all = 0;
  uint64_t steps = 0;          ///< that it is known from
  ThreadComparison comparison; ///< KneeSearch::comparison()
};

/// Steps of few rows wait for memory and may run on fewer threads than there are; steps of prompts
/// compute and run on all. Each number of rows has a search of its own: only their steps are alike.
class StepThreads {
public:
  /// Weights are read once for all rows of a step while their arithmetic grows with each, so that
  /// memory binds only steps of few. Beyond 16, where kernels begin to work on whole tiles of rows,
  /// all threads have enough to compute, and trials of fewer would be lost time.
  static constexpr uint32_t fewRows = 16;

  /// \param search false: every step runs on all.
  StepThreads(unsigned allThreads, bool search);

  /// The threads of a step of these rows, which begins now. Rows of prompts are not few, however
  /// many they are: the end of a prompt comes once, and nothing is learned from it.
  unsigned begin(const inf_model &model, uint64_t weightBytes, std::span<const inf_row> rows);
  /// It has ended.
  void end();

  /// Steps of few rows run on `threads` from now on, whatever they take; nullopt: search again.
  void fix(std::optional<unsigned> threads) { fixed = threads; }

  /// Nullopt without a search, or before the first step of few rows.
  std::optional<StepThreadsReport> report() const;

private:
  using Clock = std::chrono::steady_clock;

  unsigned all;
  std::vector<KneeSearch> searches; ///< [rows - 1]; empty: no search
  std::optional<unsigned> fixed;
  KneeSearch *running = nullptr; ///< what hears of the step that runs; null: nobody
  unsigned runningThreads = 0;
  uint64_t runningBytes = 0;
  Clock::time_point began;
};

} // namespace inf
