// Counters and histograms that the engine's thread writes and any thread reads.
#pragma once

#include <mutex>
#include <optional>

#include "runtime/engine/CompletionService.h"
#include "runtime/kv/KvCache.h"
#include "runtime/scheduler/Scheduler.h"
#include "runtime/session/StepThreads.h"

namespace inf {

class EngineMetrics {
public:
  EngineMetrics();

  void stepped(const SchedulerCounts &counts, const KvCacheStats &kv, bool ran);
  void decoded(const std::optional<StepThreadsReport> &threads);
  void token(double sinceLast); ///< 0: it is the first
  void ended(const CompletionResult &result, bool started);
  ServiceMetrics read() const;
  std::optional<StepThreadsReport> decodeThreads() const;

private:
  mutable std::mutex mutex; // held for a few copies
  ServiceMetrics now;
  std::optional<StepThreadsReport> threads; // of decoding
};

} // namespace inf
