// The rows of a step: a row for each stream, then prompts up to the budget.
#include <algorithm>

#include "runtime/scheduler/SchedulerState.h"

namespace inf {

void Scheduler::State::planDecodes() {
  for (auto &[rank, request] : requests)
    if (decodes(request) && makeRoom(request))
      planPart(request, 1);
}

void Scheduler::State::planPrompts(double now) {
  auto decodeRows = static_cast<uint32_t>(plan.parts.size());
  uint32_t budget = std::min(options.stepTokens - decodeRows, costs.promptBudget(decodeRows));
  bool mayStart = true; // nobody overtakes one that waits for a slot or memory
  for (auto &[rank, request] : requests) {
    if (budget == 0)
      return;
    if (decodes(request) || (!request.running() && !mayStart))
      continue;
    if (!request.running() && !start(request, now)) {
      mayStart = false;
      continue;
    }
    if (pendingOf(request) == 0)
      continue;
    uint32_t rows = makeRoom(request) ? planPart(request, budget) : 0;
    budget -= rows;
    mayStart = mayStart && rows != 0;
  }
}

/// Up to `most` of the pending rows, as memory and outputs allow; how many.
uint32_t Scheduler::State::planPart(Request &request, uint32_t most) {
  uint32_t outputsLeft = options.stepOutputs;
  for (const PlannedPart &part : plan.parts)
    outputsLeft -= part.outputs;
  PlannedPart part;
  part.request = request.asked.id;
  part.slot = request.slot;
  part.first = positionOf(request);
  part.decode = decodes(request);
  uint32_t pending = pendingOf(request);
  part.count = kv.roomFor(request.slot, std::min(most, pending));
  auto outputs = [&] {
    uint32_t end = part.first + part.count;
    bool all = request.asked.promptOutputs && request.reported < request.promptTokens;
    uint32_t from = all ? std::max(request.reported, part.first)
                        : static_cast<uint32_t>(request.tokens.size()) - 1;
    return end > from ? end - from : 0;
  };
  part.outputs = outputs();
  if (part.outputs > outputsLeft) {
    part.count -= std::min(part.count, part.outputs - outputsLeft);
    part.outputs = outputs();
  }
  if (part.count == 0)
    return 0;
  kv.extend(request.slot, part.count);
  plan.parts.push_back(part);
  return part.count;
}

void Scheduler::State::takeBack(uint64_t id) {
  std::erase_if(plan.parts, [id](const PlannedPart &part) { return part.request == id; });
}

void Scheduler::State::writeRows() {
  plan.rows.clear();
  plan.decodeRows = 0;
  for (const PlannedPart &part : plan.parts) {
    const Request &request = at(part.request);
    plan.decodeRows += part.decode;
    for (uint32_t i = 0; i < part.count; ++i) {
      uint32_t index = part.first + i;
      plan.rows.push_back({request.tokens[index], part.slot, index >= request.promptTokens,
                           i + part.outputs >= part.count});
    }
  }
}

} // namespace inf
