#include "runtime/scheduler/Scheduler.h"

#include <algorithm>

#include "runtime/base/Error.h"
#include "runtime/scheduler/SchedulerState.h"

namespace inf {
namespace {

/// The most tokens of a sequence that all blocks together hold.
uint32_t tokensThatFit(const KvCache &kv, uint32_t context) {
  uint32_t low = 0, high = context; // shareOf() never falls
  while (low < high) {
    uint32_t middle = high - (high - low) / 2;
    if (kv.shareOf(middle) <= 1)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

} // namespace

Scheduler::State::State(const SchedulerOptions &schedulerOptions, KvCache &cache)
    : options(schedulerOptions), kv(cache), costs(options.costs),
      capacity(tokensThatFit(cache, options.context)), slotTaken(cache.sequences()) {
  uint32_t least = std::min(options.stepTokens, options.stepOutputs);
  if (least < cache.sequences())
    fail(ErrorCode::Usage,
         "steps of {} rows and {} outputs are too small for {} sequences: each needs a row and an "
         "output. Use fewer sequences or larger steps.",
         options.stepTokens, options.stepOutputs, cache.sequences());
  if (capacity == 0)
    fail(ErrorCode::Usage, "the KV cache holds no token of a sequence. Give it more memory.");
}

Scheduler::State::Request &Scheduler::State::at(uint64_t id) {
  auto rank = ranks.find(id);
  if (rank == ranks.end())
    fail(ErrorCode::Internal, "the scheduler has no request {}", id);
  return requests.at(rank->second);
}

Scheduler::Scheduler(const SchedulerOptions &options, KvCache &kv)
    : state(std::make_unique<State>(options, kv)) {}
Scheduler::~Scheduler() = default;

void Scheduler::add(ScheduledRequest asked, double now) {
  if (asked.prompt.empty())
    fail(ErrorCode::Usage, "the prompt has no tokens; expected at least one.");
  if (asked.prompt.size() > state->capacity)
    fail(ErrorCode::TooLong,
         "the prompt has {} tokens, a sequence can hold {}. Shorten it, or give a larger context "
         "and more KV memory.",
         asked.prompt.size(), state->capacity);
  if (state->requests.size() >= state->options.requests)
    fail(ErrorCode::Usage, "{} requests run or wait, which is the most. Try again later.",
         state->requests.size());
  if (state->ranks.contains(asked.id))
    fail(ErrorCode::Usage, "request {} is there already; give each a number of its own.", asked.id);
  State::Request request;
  double age = state->options.ageSeconds * static_cast<double>(asked.priority);
  request.rank = {now + age, state->added++};
  request.tokens = asked.prompt;
  request.promptTokens = static_cast<uint32_t>(asked.prompt.size());
  // The last generated token needs no place: nothing follows it.
  request.mostTokens = std::min(asked.maxTokens, state->capacity - request.promptTokens + 1);
  request.asked = std::move(asked);
  request.asked.prompt = {};
  state->ranks.emplace(request.asked.id, request.rank);
  state->requests.emplace(request.rank, std::move(request));
}

bool Scheduler::remove(uint64_t id) {
  auto rank = state->ranks.find(id);
  if (rank == state->ranks.end())
    return false;
  State::Request &request = state->requests.at(rank->second);
  if (request.running()) {
    state->kv.release(request.slot);
    state->slotTaken[request.slot] = false;
  }
  state->takeBack(id);
  state->requests.erase(rank->second);
  state->ranks.erase(rank);
  return true;
}

std::vector<uint64_t> Scheduler::expired(double now) const {
  std::vector<uint64_t> late;
  for (const auto &[rank, request] : state->requests)
    if (request.asked.expiry && *request.asked.expiry <= now)
      late.push_back(request.asked.id);
  return late;
}

const StepPlan &Scheduler::plan(double now) {
  state->plan.parts.clear();
  state->plan.stuck.clear();
  state->planDecodes();
  state->planPrompts(now);
  state->writeRows();
  return state->plan;
}

void Scheduler::ran(double seconds) {
  const StepPlan &plan = state->plan;
  if (!plan.rows.empty())
    state->costs.ran(plan.decodeRows, plan.promptRows(), seconds);
  for (const PlannedPart &part : plan.parts) {
    State::Request &request = state->at(part.request);
    uint32_t end = part.first + part.count;
    if (request.asked.promptOutputs)
      request.reported = std::max(request.reported, std::min(end, request.promptTokens));
    if (end == request.promptTokens)
      state->kv.checkpoint(request.slot);
  }
}

void Scheduler::accept(uint64_t id, int32_t token) {
  State::Request &request = state->at(id);
  if (!request.running() || state->pendingOf(request) != 0 ||
      request.generated() >= request.mostTokens)
    fail(ErrorCode::Internal, "request {} can't take a token now", id);
  request.tokens.push_back(token);
}

bool Scheduler::has(uint64_t id) const { return state->ranks.contains(id); }

RequestProgress Scheduler::progress(uint64_t id) const {
  const State::Request &request = state->at(id);
  RequestProgress progress;
  progress.promptTokens = request.promptTokens;
  progress.generated = request.generated();
  progress.mostTokens = request.mostTokens;
  progress.cachedTokens = request.cachedTokens;
  progress.startedAt = request.startedAt;
  if (request.running())
    progress.slot = request.slot;
  progress.position = state->positionOf(request);
  return progress;
}

SchedulerCounts Scheduler::counts() const {
  SchedulerCounts counts;
  counts.preemptions = state->preemptions;
  counts.prefixLookupTokens = state->prefixLookupTokens;
  counts.prefixHitTokens = state->prefixHitTokens;
  for (const auto &[rank, request] : state->requests)
    ++(request.running() ? counts.running : counts.waiting);
  return counts;
}

uint32_t Scheduler::capacity() const { return state->capacity; }

} // namespace inf
