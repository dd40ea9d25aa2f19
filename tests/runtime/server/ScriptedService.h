// A service that answers from a script: what a model would generate, without one.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/engine/CompletionService.h"

namespace inf::test {

/// What one request gets.
struct Script {
  std::vector<int32_t> tokens = {};        ///< then `end`
  CompletionEnd end = CompletionEnd::Stop; ///< Stop: the last token is the stop token
  std::chrono::microseconds perToken{0};   ///< a step's time
  std::chrono::microseconds prefill{0};    ///< before the first token; cancel() ends it
  std::string error = {};
  uint32_t cached = 0;
};

/// Runs every request on a thread of its own step by step, as an engine would: honours maxTokens,
/// forced tokens, verdicts, cancel and drain. Records what it was asked.
class ScriptedService : public CompletionService {
public:
  using Author = std::function<Script(const CompletionRequest &)>;

  ScriptedService(ServiceLimits serviceLimits, Author scriptAuthor);
  ~ScriptedService() override;

  std::vector<uint64_t> submitAll(std::vector<CompletionJob> jobs) override;
  void cancel(uint64_t request) override;
  void drain(std::chrono::milliseconds grace) override;
  ServiceLimits limits() const override { return capacity; }
  ServiceMetrics metrics() const override;

  void setAuthor(Author scriptAuthor);
  /// The next submit() throws this.
  void refuseNext(RefusalReason reason, std::string message);
  std::vector<CompletionRequest> requests() const;
  /// Tokens that sinks were given, of all requests.
  uint64_t tokensMade() const;
  /// Whether all requests end within `time`.
  bool idleWithin(std::chrono::milliseconds time);

private:
  struct Running {
    std::thread thread;
    bool cancelled = false, done = false;
  };

  uint64_t start(CompletionRequest request, std::shared_ptr<CompletionSink> sink);
  void run(uint64_t number, const CompletionRequest &request, const Script &script,
           std::shared_ptr<CompletionSink> sink);
  bool wait(uint64_t number, std::chrono::microseconds time);

  const ServiceLimits capacity;
  mutable std::mutex mutex; ///< guards all below
  std::condition_variable changed;
  Author author;
  std::map<uint64_t, Running> running;
  std::vector<CompletionRequest> asked;
  std::vector<std::pair<RefusalReason, std::string>> refusals;
  ServiceMetrics counts;
  uint64_t last = 0;
  bool closing = false;
};

} // namespace inf::test
