// A sink that keeps everything, and lets a test wait for it.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "runtime/engine/CompletionService.h"

namespace inf::test {

class RecordingSink : public CompletionSink {
public:
  struct Event {
    int32_t id;
    bool forced, stop;
    double logprob;
    std::vector<TokenLogprob> top;
  };

  void promptToken(const TokenEvent &event) override;
  TokenVerdict token(const TokenEvent &event) override;
  void finished(const CompletionResult &result) override;

  /// Waits, at most a minute; fails the test then.
  CompletionResult wait();
  /// Waits for so many tokens, or the end.
  void waitForTokens(size_t count);
  std::vector<int32_t> tokens() const;
  std::vector<Event> events() const;
  std::vector<Event> promptEvents() const;
  unsigned timesFinished() const;

  /// Called for each token with how many came before; set before submit().
  std::function<TokenVerdict(size_t index)> onToken;
  bool throwAtEnd = false; ///< in finished(), after it was recorded

private:
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::vector<Event> all, prompt;
  CompletionResult last;
  unsigned ends = 0;
};

} // namespace inf::test
