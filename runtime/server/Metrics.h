// /metrics: counters and histograms in Prometheus' text format, under the names vLLM uses where it
// has one for the same thing.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/server/ApiServer.h"

namespace inf {

/// Counts requests and passes them to the log.
class RequestLog {
public:
  using Counts = std::map<std::pair<std::string, unsigned>, uint64_t>; ///< path, status

  explicit RequestLog(std::function<void(const RequestRecord &)> callback);
  /// Unlike any other of this or another run.
  std::string nextId();
  void add(const RequestRecord &record);
  Counts counts() const;

private:
  const std::function<void(const RequestRecord &)> log;
  mutable std::mutex mutex; ///< guards the rest
  Counts byPath;
  uint64_t state;
};

std::string prometheusText(const ServedModel &model, const HttpCounters &http,
                           const RequestLog::Counts &requests);

} // namespace inf
