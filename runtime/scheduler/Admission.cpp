// Who gets a slot and memory, and who gives them up.
#include <algorithm>

#include "runtime/scheduler/SchedulerState.h"

namespace inf {

bool Scheduler::State::othersRun(const Request &request) const {
  for (const auto &[rank, other] : requests)
    if (other.running() && &other != &request)
      return true;
  return false;
}

/// The running request that is last in rank and behind this one.
Scheduler::State::Request *Scheduler::State::lastBehind(const Request &request, bool lowerClass) {
  for (auto at = requests.rbegin(); at != requests.rend() && at->first > request.rank; ++at)
    if (at->second.running() && (!lowerClass || at->second.asked.priority > request.asked.priority))
      return &at->second;
  return nullptr;
}

void Scheduler::State::preempt(Request &request) {
  takeBack(request.asked.id);
  kv.release(request.slot);
  slotTaken[request.slot] = false;
  request.slot = noSlot;
  ++preemptions;
}

bool Scheduler::State::makeRoom(Request &request) {
  while (kv.roomFor(request.slot, 1) == 0) {
    if (Request *victim = lastBehind(request, false)) {
      preempt(*victim);
    } else if (othersRun(request)) {
      preempt(request); // those before it go on
      return false;
    } else {
      plan.stuck.push_back(request.asked.id);
      return false;
    }
  }
  return true;
}

uint32_t Scheduler::State::freeSlot() const {
  auto slot = std::find(slotTaken.begin(), slotTaken.end(), false);
  return slot == slotTaken.end() ? noSlot : static_cast<uint32_t>(slot - slotTaken.begin());
}

double Scheduler::State::shareOf(const Request &request) const {
  uint64_t end = uint64_t{request.promptTokens} + request.mostTokens;
  uint64_t soon = std::min<uint64_t>(request.tokens.size() + options.growthTokens, end);
  return kv.shareOf(static_cast<uint32_t>(std::min<uint64_t>(soon, capacity)));
}

double Scheduler::State::memoryInUse(const Request *but) const {
  double held = 0, coming = 0;
  for (uint32_t g = 0; g < kv.views().size(); ++g) {
    KvGroupStats group = kv.groupStats(g);
    if (group.blocks != 0)
      held = std::max(held, group.held / static_cast<double>(group.blocks));
  }
  for (const auto &[rank, request] : requests)
    if (request.running() && &request != but)
      coming += std::max(0.0, shareOf(request) - kv.shareOf(positionOf(request)));
  return held + coming;
}

/// Gives it a slot with its cached prefix, if there is memory for what it knows and some more.
bool Scheduler::State::attach(Request &request, uint32_t slot) {
  std::span<const int32_t> known = request.tokens;
  if (request.asked.promptOutputs) // rows that are still to give logits must run
    known = known.first(std::min<size_t>(request.reported, known.size()));
  double before = memoryInUse(nullptr);
  bool alone = !othersRun(request);
  double atLeast = shareOf(request) - kv.shareOf(kv.longestPrefix(known, request.asked.tenant));
  if (!alone && (before + atLeast > 1 || before >= request.refusedAt))
    return false;
  uint32_t found = kv.attach(slot, known, request.asked.tenant);
  double rest = shareOf(request) - kv.shareOf(found);
  if (!alone && memoryInUse(nullptr) + rest > 1) {
    kv.release(slot); // what it found was held by nobody: it counts now
    request.refusedAt = before;
    return false;
  }
  if (!request.startedAt) {
    request.cachedTokens = found;
    prefixLookupTokens += known.size();
    prefixHitTokens += found;
  }
  return true;
}

bool Scheduler::State::start(Request &request, double now) {
  while (true) {
    uint32_t slot = freeSlot();
    if (slot != noSlot && attach(request, slot)) {
      request.slot = slot;
      request.refusedAt = 2;
      slotTaken[slot] = true;
      if (!request.startedAt)
        request.startedAt = now;
      return true;
    }
    Request *victim = lastBehind(request, true);
    if (!victim)
      return false;
    preempt(*victim);
    request.refusedAt = 2;
  }
}

} // namespace inf
