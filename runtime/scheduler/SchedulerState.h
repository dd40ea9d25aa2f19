// The scheduler's own state.
#pragma once

#include <map>
#include <utility>

#include "runtime/scheduler/Scheduler.h"

namespace inf {

struct Scheduler::State {
  using Rank = std::pair<double, uint64_t>; ///< see Scheduler.h; equal times: order of add()
  static constexpr uint32_t noSlot = UINT32_MAX;

  struct Request {
    ScheduledRequest asked;
    Rank rank;
    std::vector<int32_t> tokens; ///< prompt and generated
    uint32_t promptTokens = 0, mostTokens = 0;
    uint32_t slot = noSlot; ///< noSlot: it waits
    uint32_t cachedTokens = 0;
    uint32_t reported = 0; ///< prompt rows whose logits have been given
    std::optional<double> startedAt;
    /// It was sent back for want of memory when so much was in use; not tried again above.
    double refusedAt = 2;

    bool running() const { return slot != noSlot; }
    uint32_t generated() const { return static_cast<uint32_t>(tokens.size()) - promptTokens; }
  };

  State(const SchedulerOptions &schedulerOptions, KvCache &cache);

  Request &at(uint64_t id);
  uint32_t positionOf(const Request &request) const {
    return request.running() ? kv.position(request.slot) : 0;
  }
  uint32_t pendingOf(const Request &request) const {
    return static_cast<uint32_t>(request.tokens.size()) - positionOf(request);
  }
  /// A stream that waits for its next token.
  bool decodes(const Request &request) const {
    return request.running() && request.generated() > 0 && pendingOf(request) == 1;
  }

  void planDecodes();
  void planPrompts(double now);
  uint32_t planPart(Request &request, uint32_t most);
  void takeBack(uint64_t id);
  void writeRows();

  /// Memory for at least one more token, from those behind it if need be.
  bool makeRoom(Request &request);
  Request *lastBehind(const Request &request, bool lowerClass);
  void preempt(Request &request);
  bool start(Request &request, double now);
  bool attach(Request &request, uint32_t slot);
  uint32_t freeSlot() const;
  /// Of the scarcest group's blocks: held, and what running requests will take soon.
  double memoryInUse(const Request *but) const;
  double shareOf(const Request &request) const;
  bool othersRun(const Request &request) const;

  SchedulerOptions options;
  KvCache &kv;
  StepCosts costs;
  uint32_t capacity = 0;
  uint64_t added = 0, preemptions = 0, prefixLookupTokens = 0, prefixHitTokens = 0;
  std::map<Rank, Request> requests; ///< first in rank first
  std::map<uint64_t, Rank> ranks;   ///< by id
  std::vector<bool> slotTaken;      // [sequences]
  StepPlan plan;
};

} // namespace inf
