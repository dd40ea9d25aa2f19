// What other threads ask of the engine's thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/engine/CompletionService.h"

namespace inf {

struct Submission {
  uint64_t id = 0;
  CompletionRequest request;
  std::shared_ptr<CompletionSink> sink;
  double submitted = 0; ///< seconds
};

struct Mail {
  std::vector<Submission> submissions; ///< in order
  std::vector<uint64_t> cancelled;
  bool cancelAll = false, stop = false;
};

/// Counts the requests that have not ended, so that a full queue refuses at once.
class Mailbox {
public:
  explicit Mailbox(uint32_t most) : mostAlive(most) {}

  /// The requests' numbers. All are taken or none; throws Refusal: Busy, Closing, and Invalid for
  /// more than could ever be there.
  std::vector<uint64_t> submit(std::vector<CompletionJob> jobs, double now);
  void cancel(uint64_t id);
  /// No submissions from now on.
  void close();
  void cancelAll();
  void stop(); ///< the engine's thread is to end; implies close and cancelAll
  /// True once no request is left and the sink of every one is gone; false after `grace`.
  bool waitUntilEmpty(std::chrono::milliseconds grace);
  void waitUntilEmpty();

  /// For the engine's thread: what has come; sleeps for it when `idle`.
  Mail take(bool idle);
  void ended();    ///< one request less: its place is free
  void sinkGone(); ///< of a request that has ended

  uint32_t alive() const;
  uint64_t refusedFull() const;

private:
  const uint32_t mostAlive;
  mutable std::mutex mutex;
  std::condition_variable arrived, emptied;
  Mail mail;
  uint64_t lastId = 0, refused = 0;
  uint32_t aliveCount = 0;
  uint64_t sinks = 0; ///< that may still be called
  bool closed = false;
};

} // namespace inf
