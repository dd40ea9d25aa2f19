// What the engine needs of a model: steps of many sequences. SessionRunner is the one of a loaded
// model; tests bring their own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/kv/KvCache.h"
#include "runtime/scheduler/StepPlan.h"
#include "runtime/session/StepThreads.h"

namespace inf {

struct RunnerFacts {
  uint32_t vocabulary = 0, context = 0;
  uint32_t stepTokens = 0, stepOutputs = 0; ///< most rows of a step, and those with logits
  std::vector<int32_t> stopTokens;
};

/// Used by one thread, the one that made it.
class StepRunner {
public:
  virtual ~StepRunner() = default;
  virtual RunnerFacts facts() const = 0;
  virtual KvCache &kv() = 0;
  /// Runs the rows, appends and commits their tokens. May throw; nothing is committed then.
  virtual void run(std::span<const PlannedRow> rows) = 0;
  /// Of the latest step, the i-th row that wanted logits. [vocabulary]; valid until the next step.
  virtual std::span<const float> logits(uint32_t output) const = 0;
  /// Session::decodeThreads().
  virtual std::optional<StepThreadsReport> decodeThreads() const { return std::nullopt; }
};

using MakeRunner = std::function<std::unique_ptr<StepRunner>()>;

} // namespace inf
