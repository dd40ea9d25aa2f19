// Which rows run next: iteration-level batching (Orca, OSDI 2022) with prompts cut into chunks
// (Sarathi-Serve, OSDI 2024) over a KV cache that may be too small for everybody.
//
//   waiting --- a slot and memory ---> running: prompt rows, then a row per step
//      ^                                  |
//      +---- preempted: no memory --------+---> removed (done, cancelled, late)
//
// Order. A request's rank is the time it was added plus `ageSeconds` times its class, so waiting
// `ageSeconds` lifts a request by a class, and ranks never change. All choices follow it: who
// starts, whose prompt goes first, and who gives memory up (the last). So the first in rank always
// progresses, a request waits only for those that were added before its rank, and within a class
// the order is that of arrival.
//
// A preempted request keeps its tokens and runs them again later, minus what the prefix index still
// has. A token's bits do not depend on that, so its answer doesn't either.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/kv/KvCache.h"
#include "runtime/scheduler/RequestPriority.h"
#include "runtime/scheduler/StepCosts.h"
#include "runtime/scheduler/StepPlan.h"

namespace inf {

struct SchedulerOptions {
  uint32_t requests = 64;    ///< waiting and running, at most
  uint32_t context = 4096;   ///< tokens of a sequence, the KV cache's
  uint32_t stepTokens = 256; ///< rows of a step; not fewer than the cache's sequences
  uint32_t stepOutputs = 64; ///< rows of a step that want logits; likewise
  double ageSeconds = 10;    ///< of waiting that lift a request by a class
  /// Tokens that each running request may still be given before a new one starts: memory that keeps
  /// them from being preempted at once.
  uint32_t growthTokens = 64;
  StepCostOptions costs;
};

struct ScheduledRequest {
  uint64_t id = 0;             ///< unique
  std::vector<int32_t> prompt; ///< not empty
  uint64_t tenant = 0;
  RequestPriority priority = RequestPriority::Normal;
  uint32_t maxTokens = 1;       ///< to be generated
  bool promptOutputs = false;   ///< logits of every prompt row (none can come from the cache)
  std::optional<double> expiry; ///< point in time
};

/// What can be known of a request between steps.
struct RequestProgress {
  uint32_t promptTokens = 0, generated = 0;
  uint32_t mostTokens = 0;         ///< that it can generate: maxTokens, or less by memory
  uint32_t cachedTokens = 0;       ///< of the prompt, found when it started first
  std::optional<double> startedAt; ///< when its first row was planned
  std::optional<uint32_t> slot;    ///< running
  uint32_t position = 0;           ///< tokens in the KV cache
  bool done() const { return generated >= mostTokens; }
};

struct SchedulerCounts {
  uint32_t running = 0, waiting = 0;
  uint64_t preemptions = 0;
  /// Of prompts, when they started first, where they may come from the cache: all, and those found.
  /// (The KV cache counts its lookups, of which one request may need several.)
  uint64_t prefixLookupTokens = 0, prefixHitTokens = 0;
};

/// Not thread-safe. Knows no clock: times are seconds from any start, never going back. Who runs
/// the plan appends and commits the planned tokens in the KV cache (Session::step does).
class Scheduler {
public:
  /// Fails with Usage when a step can't hold a row of each sequence. `kv` must outlive this object;
  /// its sequences are the slots, all empty.
  Scheduler(const SchedulerOptions &options, KvCache &kv);
  ~Scheduler();

  /// Fails with TooLong for a prompt beyond the context or all KV memory, with Usage for an empty
  /// one, a full queue or an id that is there already. Nothing has happened then.
  void add(ScheduledRequest request, double now);
  /// Takes it out, whatever it does; its tokens stay in the prefix index. False: unknown.
  bool remove(uint64_t id);
  /// Requests whose expiry has come; they stay until removed.
  std::vector<uint64_t> expired(double now) const;

  /// The next step; its blocks are reserved. Empty when there is nothing to do, or only `stuck`.
  /// Valid until the next call.
  const StepPlan &plan(double now);
  /// The planned step has run and is committed.
  void ran(double seconds);
  /// The token that follows all known ones of a request whose last row gave logits.
  void accept(uint64_t id, int32_t token);

  bool has(uint64_t id) const;
  RequestProgress progress(uint64_t id) const; ///< Internal for an unknown id
  SchedulerCounts counts() const;
  /// Tokens that a sequence can hold: the context, or less by memory.
  uint32_t capacity() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace inf
