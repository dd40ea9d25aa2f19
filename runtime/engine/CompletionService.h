// Token ids in, token ids out, for many requests at once: what a server, a chat in the terminal or
// a test asks for. Engine is the one that runs a model; tests of the server use a scripted one.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/Error.h"
#include "runtime/sampler/Logprobs.h"
#include "runtime/sampler/SamplingOptions.h"
#include "runtime/scheduler/RequestPriority.h"

namespace inf {

struct CompletionRequest {
  std::vector<int32_t> prompt; ///< not empty
  SamplingOptions sampling;
  uint32_t maxTokens =
      256;                ///< generated ones, a stop token included; cut to what the context holds
  bool ignoreEos = false; ///< the model's stop tokens do not stop
  std::vector<int32_t> stopTokens; ///< besides the model's
  /// Log-probabilities of the raw logits: none, or of the chosen token and the n likeliest; n
  /// <= 20.
  std::optional<uint32_t> logprobs;
  bool promptLogprobs = false; ///< sink.promptToken() for every prompt token but the first
  RequestPriority priority = RequestPriority::Normal;
  /// Ends with CompletionEnd Deadline when it is not done by then. From submit().
  std::optional<std::chrono::milliseconds> deadline;
  uint64_t tenant = 0; ///< cached prefixes are shared within a tenant only
};

struct TokenEvent {
  int32_t id = 0;
  bool forced = false;               ///< it was the sink's wish, not the sampler's choice
  bool stop = false;                 ///< a stop token: the last one
  double logprob = 0;                ///< with logprobs asked for
  std::span<const TokenLogprob> top; ///< likeliest first; valid during the call
};

/// What to do after a token.
struct TokenVerdict {
  bool finish = false; ///< enough (a stop string was found): CompletionEnd Sink
  /// The tokens that come next whatever the logits say (the way out of reasoning that took too
  /// long). They count as generated and are reported as events with `forced`.
  std::vector<int32_t> force;
  bool abandon = false; ///< nobody waits for the rest: CompletionEnd Cancelled
};

enum class CompletionEnd : uint8_t {
  Stop,      ///< a stop token
  Length,    ///< maxTokens, or the context is full
  Sink,      ///< the sink said so
  Cancelled, ///< cancel()
  Deadline,
  Error, ///< see `error`
};

struct CompletionResult {
  CompletionEnd end = CompletionEnd::Stop;
  std::string error;
  uint32_t promptTokens = 0, cachedTokens = 0, generatedTokens = 0;
  double queuedSeconds = 0;     ///< before the first prompt row ran
  double firstTokenSeconds = 0; ///< from submit to the first token; 0: there was none
  double seconds = 0;           ///< from submit
};

/// Where a request's tokens go. Called on the engine's thread, between steps, in order; must not
/// block and must not call back into the service. No call comes after finished().
class CompletionSink {
public:
  virtual ~CompletionSink() = default;
  virtual void promptToken(const TokenEvent &) {}
  virtual TokenVerdict token(const TokenEvent &event) = 0;
  virtual void finished(const CompletionResult &result) = 0;
};

struct CompletionJob {
  CompletionRequest request;
  std::shared_ptr<CompletionSink> sink;
};

/// What the service can take; fixed for its life.
struct ServiceLimits {
  uint32_t vocabulary = 0, context = 0;
  uint32_t sequences = 0; ///< running at a time
  uint32_t queue = 0;     ///< waiting at most, when all sequences run
  uint32_t capacity = 0;  ///< tokens a sequence can hold: the context, or less by KV memory

  /// Requests that can be there at a time.
  uint64_t places() const { return uint64_t{sequences} + queue; }
};

struct LatencyHistogram {
  std::vector<double> bounds;   ///< seconds, ascending
  std::vector<uint64_t> counts; ///< [bounds + 1]
  double sum = 0;
};

/// Since start, or now.
struct ServiceMetrics {
  uint32_t running = 0, waiting = 0;
  uint64_t finishedStop = 0, finishedLength = 0, cancelled = 0, expired = 0, failed = 0,
           refusedFull = 0, preemptions = 0;
  uint64_t promptTokens = 0, cachedTokens = 0, generatedTokens = 0, steps = 0;
  uint64_t kvBytes = 0, kvHeldBytes = 0, kvCachedBytes = 0, prefixLookupTokens = 0,
           prefixHitTokens = 0, evictedBlocks = 0;
  uint32_t decodeThreads = 0; ///< that generated rows run on; 0: all, or none has run
  LatencyHistogram timeToFirstToken, timeBetweenTokens, requestSeconds, queueSeconds;
};

/// Why a request was refused before any compute.
enum class RefusalReason : uint8_t {
  Invalid, ///< bad options, unknown token, empty prompt, more at once than there are places
  TooLong, ///< the prompt is beyond the context, or beyond all KV memory
  Busy,    ///< the queue is full; try again later
  Closing, ///< the service is draining
};

class Refusal : public Error {
public:
  Refusal(RefusalReason why, const std::string &message)
      : Error(why == RefusalReason::TooLong ? ErrorCode::TooLong : ErrorCode::Usage, message),
        reason(why) {}
  const RefusalReason reason;
};

/// Every method may be called from any thread.
class CompletionService {
public:
  virtual ~CompletionService() = default;
  /// Takes all of them or none: their places are reserved together. Returns their numbers, > 0, in
  /// order. Throws Refusal at once, before any compute; no sink gets a call then.
  virtual std::vector<uint64_t> submitAll(std::vector<CompletionJob> jobs) = 0;
  /// submitAll() of one.
  uint64_t submit(CompletionRequest request, std::shared_ptr<CompletionSink> sink) {
    std::vector<CompletionJob> jobs;
    jobs.push_back({std::move(request), std::move(sink)});
    return submitAll(std::move(jobs)).front();
  }
  /// The request ends within a step (Cancelled), unless it has ended. Unknown numbers are ignored.
  virtual void cancel(uint64_t request) = 0;
  /// No new requests; those that run may finish until `grace` is over, then they are cancelled.
  /// Returns when none is left and every sink has heard of its end and was dropped: what the sinks
  /// refer to may go.
  virtual void drain(std::chrono::milliseconds grace) = 0;
  virtual ServiceLimits limits() const = 0;
  virtual ServiceMetrics metrics() const = 0;
};

} // namespace inf
