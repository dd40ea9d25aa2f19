#include "runtime/engine/EngineMetrics.h"

#include <algorithm>

namespace inf {
namespace {

LatencyHistogram histogram(std::initializer_list<double> bounds) {
  LatencyHistogram made;
  made.bounds = bounds;
  made.counts.resize(bounds.size() + 1);
  return made;
}

void add(LatencyHistogram &histogram, double seconds) {
  auto at = std::lower_bound(histogram.bounds.begin(), histogram.bounds.end(), seconds);
  ++histogram.counts[static_cast<size_t>(at - histogram.bounds.begin())];
  histogram.sum += seconds;
}

} // namespace

EngineMetrics::EngineMetrics() {
  now.timeBetweenTokens = histogram({0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5});
  now.timeToFirstToken = now.queueSeconds =
      histogram({0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120});
  now.requestSeconds = histogram({0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800});
}

void EngineMetrics::stepped(const SchedulerCounts &counts, const KvCacheStats &kv, bool ran) {
  std::lock_guard lock(mutex);
  now.steps += ran;
  now.running = counts.running;
  now.waiting = counts.waiting;
  now.preemptions = counts.preemptions;
  now.kvBytes = kv.bytes;
  now.kvHeldBytes = kv.heldBytes;
  now.kvCachedBytes = kv.cachedBytes;
  if (kv.lookups != 0) { // prefixes are kept at all
    now.prefixLookupTokens = counts.prefixLookupTokens;
    now.prefixHitTokens = counts.prefixHitTokens;
  }
  now.evictedBlocks = kv.evictedBlocks;
}

void EngineMetrics::decoded(const std::optional<StepThreadsReport> &found) {
  std::lock_guard lock(mutex);
  threads = found;
  now.decodeThreads = found ? found->threads : 0;
}

void EngineMetrics::token(double sinceLast) {
  std::lock_guard lock(mutex);
  ++now.generatedTokens;
  if (sinceLast > 0)
    add(now.timeBetweenTokens, sinceLast);
}

void EngineMetrics::ended(const CompletionResult &result, bool started) {
  std::lock_guard lock(mutex);
  switch (result.end) {
  case CompletionEnd::Stop:
  case CompletionEnd::Sink:
    ++now.finishedStop;
    break;
  case CompletionEnd::Length:
    ++now.finishedLength;
    break;
  case CompletionEnd::Cancelled:
    ++now.cancelled;
    break;
  case CompletionEnd::Deadline:
    ++now.expired;
    break;
  case CompletionEnd::Error:
    ++now.failed;
    break;
  }
  if (started) {
    now.promptTokens += result.promptTokens;
    now.cachedTokens += result.cachedTokens;
    add(now.queueSeconds, result.queuedSeconds);
  }
  if (result.firstTokenSeconds > 0)
    add(now.timeToFirstToken, result.firstTokenSeconds);
  add(now.requestSeconds, result.seconds);
}

std::optional<StepThreadsReport> EngineMetrics::decodeThreads() const {
  std::lock_guard lock(mutex);
  return threads;
}

ServiceMetrics EngineMetrics::read() const {
  std::lock_guard lock(mutex);
  return now;
}

} // namespace inf
