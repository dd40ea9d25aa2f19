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
  /// Never throws; an endpoint's thread or the service's must not end for want of a log.
  void add(const RequestRecord &record) noexcept;
  Counts counts() const;

private:
  const std::function<void(const RequestRecord &)> log;
  mutable std::mutex mutex; ///< guards the rest
  Counts byPath;
  uint64_t state;
};

/// `refusedFull`: requests that did not come as far as the service.
std::string prometheusText(const ServedModel &model, const HttpCounters &http,
                           const RequestLog::Counts &requests, uint64_t refusedFull);

} // namespace inf
