#include "runtime/server/Metrics.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>

namespace inf {
namespace {

constexpr std::string_view knownPaths[] = {
    "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/models",    "/tokenize",
    "/detokenize",          "/health",         "/health/live",  "/health/ready", "/metrics"};

/// A bounded set of labels: anybody can ask for any path.
std::string labelOf(const std::string &path) {
  const bool known =
      std::find(std::begin(knownPaths), std::end(knownPaths), path) != std::end(knownPaths);
  return known ? path : "other";
}

class Text {
public:
  explicit Text(const std::string &model)
      : label(fmt::format("model_name=\"{}\"", escaped(model))) {}

  void head(std::string_view name, std::string_view type, std::string_view help) {
    out += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
  }
  template <typename Number>
  void sample(std::string_view name, Number value, const std::string &more = "") {
    out += fmt::format("{}{{{}{}}} {}\n", name, label, more, value);
  }
  template <typename Number>
  void one(std::string_view name, std::string_view type, std::string_view help, Number value) {
    head(name, type, help);
    sample(name, value);
  }
  void histogram(std::string_view name, std::string_view help, const LatencyHistogram &values);
  std::string take() { return std::move(out); }

private:
  static std::string escaped(const std::string &value) {
    std::string result;
    for (char c : value)
      if (c == '\\' || c == '"')
        result += {'\\', c};
      else
        result += c == '\n' ? ' ' : c;
    return result;
  }

  std::string label, out;
};

void Text::histogram(std::string_view name, std::string_view help, const LatencyHistogram &values) {
  head(name, "histogram", help);
  const std::string bucket = fmt::format("{}_bucket", name);
  uint64_t count = 0;
  for (size_t i = 0; i < values.counts.size(); ++i) {
    count += values.counts[i];
    sample(bucket, count,
           i < values.bounds.size() ? fmt::format(",le=\"{}\"", values.bounds[i]) : ",le=\"+Inf\"");
  }
  sample(fmt::format("{}_sum", name), values.sum);
  sample(fmt::format("{}_count", name), count);
}

void addService(Text &text, const ServiceMetrics &m) {
  text.one("vllm:num_requests_running", "gauge", "Requests being answered.", m.running);
  text.one("vllm:num_requests_waiting", "gauge", "Requests in the queue.", m.waiting);
  text.head("vllm:request_success_total", "counter", "Answers complete, by why they ended.");
  text.sample("vllm:request_success_total", m.finishedStop, ",finished_reason=\"stop\"");
  text.sample("vllm:request_success_total", m.finishedLength, ",finished_reason=\"length\"");
  text.one("inf:requests_cancelled_total", "counter", "Ended: nobody waited for it.", m.cancelled);
  text.one("inf:requests_expired_total", "counter", "Beyond their time limit.", m.expired);
  text.one("inf:requests_failed_total", "counter", "Errors of the engine.", m.failed);
  text.one("inf:requests_refused_full_total", "counter", "The queue was full.", m.refusedFull);
  text.one("vllm:num_preemptions_total", "counter", "Sequences that made room.", m.preemptions);
  text.one("vllm:prompt_tokens_total", "counter", "Tokens of prompts.", m.promptTokens);
  text.one("vllm:generation_tokens_total", "counter", "Tokens generated.", m.generatedTokens);
  text.one("inf:prompt_tokens_cached_total", "counter", "Not computed again.", m.cachedTokens);
  text.one("inf:steps_total", "counter", "Steps of the model.", m.steps);
  text.one("inf:decode_threads", "gauge", "Found to be enough for decoding; 0: nothing searched.",
           m.decodeThreads);
  text.one("vllm:prefix_cache_queries_total", "counter", "Tokens looked up.", m.prefixLookupTokens);
  text.one("vllm:prefix_cache_hits_total", "counter", "Tokens found.", m.prefixHitTokens);
  text.one("inf:kv_cache_bytes", "gauge", "Most bytes of keys and values.", m.kvBytes);
  text.one("inf:kv_cache_held_bytes", "gauge", "Of running requests.", m.kvHeldBytes);
  text.one("inf:kv_cache_cached_bytes", "gauge", "Kept for later prompts.", m.kvCachedBytes);
  text.one("inf:kv_cache_evicted_blocks_total", "counter", "Blocks given up.", m.evictedBlocks);
  text.one("vllm:kv_cache_usage_perc", "gauge", "Share of kv_cache_bytes held, 0 to 1.",
           m.kvBytes ? double(m.kvHeldBytes) / double(m.kvBytes) : 0.0);
  text.histogram("vllm:time_to_first_token_seconds", "From submit.", m.timeToFirstToken);
  text.histogram("vllm:inter_token_latency_seconds", "Between tokens of one answer.",
                 m.timeBetweenTokens);
  text.histogram("vllm:e2e_request_latency_seconds", "From submit to the end.", m.requestSeconds);
  text.histogram("vllm:request_queue_time_seconds", "Before the first step.", m.queueSeconds);
}

void addHttp(Text &text, const HttpCounters &http, const RequestLog::Counts &requests) {
  text.one("inf:http_connections_open", "gauge", "Connections.", http.open);
  text.one("inf:http_connections_total", "counter", "Accepted.", http.accepted);
  text.one("inf:http_connections_refused_total", "counter", "Beyond the limit.", http.refused);
  text.one("inf:http_clients_gone_total", "counter", "Left before their answer.", http.gone);
  text.one("inf:http_slow_readers_total", "counter", "Closed: read too slowly.", http.slowReaders);
  text.head("inf:http_requests_total", "counter", "Requests, by path and status (0: client left).");
  for (const auto &[key, count] : requests)
    text.sample("inf:http_requests_total", count,
                fmt::format(",path=\"{}\",status=\"{}\"", key.first, key.second));
}

} // namespace

RequestLog::RequestLog(std::function<void(const RequestRecord &)> callback)
    : log(std::move(callback)) {
  std::random_device device;
  state = (uint64_t(device()) << 32) | device();
}

std::string RequestLog::nextId() {
  std::lock_guard lock(mutex);
  // Steps of an odd number reach all 2^64 values before one comes again.
  state += 0x9E3779B97F4A7C15;
  return fmt::format("{:016x}", state);
}

void RequestLog::add(const RequestRecord &record) noexcept {
  try {
    std::unique_lock lock(mutex);
    ++byPath[{labelOf(record.path), record.status}];
    lock.unlock(); // ids and counters go on whatever the log does
    if (log)
      log(record);
  } catch (...) {
    // There is no third place to tell.
  }
}

RequestLog::Counts RequestLog::counts() const {
  std::lock_guard lock(mutex);
  return byPath;
}

std::string prometheusText(const ServedModel &model, const HttpCounters &http,
                           const RequestLog::Counts &requests, uint64_t refusedFull) {
  Text text(model.id);
  ServiceMetrics service = model.service.metrics();
  service.refusedFull += refusedFull;
  addService(text, service);
  addHttp(text, http, requests);
  return text.take();
}

} // namespace inf
