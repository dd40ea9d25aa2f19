#include "tests/runtime/scheduler/Simulation.h"

#include <algorithm>
#include <set>

#include "runtime/base/Error.h"

namespace inf::test {
namespace {

constexpr uint32_t blockTokens = 8, window = 12;
/// The first in rank may be without a row for a step at most: the one in which it is added.
constexpr uint64_t idleBound = 1;

inf_kv_group group(uint32_t windowTokens) {
  inf_kv_group kv = {};
  kv.struct_bytes = sizeof kv;
  kv.block_tokens = blockTokens;
  kv.window = windowTokens;
  kv.slots = 1;
  kv.slot_bytes = kv.block_bytes = uint64_t{blockTokens} * sizeof(uint64_t);
  return kv;
}

KvCacheOptions kvOptions(const SimulationSetup &setup) {
  KvCacheOptions options;
  options.sequences = setup.sequences;
  options.context = setup.context;
  options.maxRows = setup.stepTokens;
  options.bytes = setup.kvBytes;
  options.prefixes = setup.prefixes;
  options.checkpointTokens = 16;
  return options;
}

SchedulerOptions schedulerOptions(const SimulationSetup &setup) {
  SchedulerOptions options;
  options.requests = setup.requests;
  options.context = setup.context;
  options.stepTokens = setup.stepTokens;
  options.stepOutputs = std::max(setup.sequences, setup.stepTokens / 2);
  options.ageSeconds = setup.ageSeconds;
  options.growthTokens = 8;
  options.costs.leastChunk = 2;
  return options;
}

double secondsOf(const StepPlan &plan) {
  return 0.02 + 0.0005 * plan.decodeRows + 0.002 * plan.promptRows();
}

} // namespace

Simulation::Simulation(const SimulationSetup &simulationSetup, uint64_t seed)
    : setup(simulationSetup), random(seed), groups{group(0), group(window)},
      kv(groups, kvOptions(setup)), scheduler(schedulerOptions(setup), kv) {}

void Simulation::arrive() {
  if (lives.size() >= setup.requests)
    return;
  ScheduledRequest request;
  request.id = nextId++;
  uint32_t family = below(4); // families share beginnings
  uint32_t length = 1 + below(below(4) == 0 ? scheduler.capacity() : 24);
  for (uint32_t i = 0; i < std::min(length, scheduler.capacity()); ++i)
    request.prompt.push_back(static_cast<int32_t>(i < 20 ? family * 100 + i : below(1000)));
  request.maxTokens = below(40);
  request.priority = static_cast<RequestPriority>(below(3));
  request.tenant = below(2);
  request.promptOutputs = below(8) == 0;
  if (below(6) == 0)
    request.expiry = now + below(100) * 0.05;
  Life life;
  life.tokens = request.prompt;
  life.prompt = static_cast<uint32_t>(life.tokens.size());
  life.priority = request.priority;
  life.promptOutputs = request.promptOutputs;
  life.since = now;
  life.rank = now + setup.ageSeconds * static_cast<double>(request.priority);
  lives.emplace(request.id, life);
  scheduler.add(std::move(request), now);
}

void Simulation::end(uint64_t id) {
  cachedTokens += scheduler.progress(id).cachedTokens;
  scheduler.remove(id);
  lives.erase(id);
  ++finished;
}

void Simulation::cancelSome() {
  if (!lives.empty() && below(40) == 0)
    end(std::next(lives.begin(), below(static_cast<uint32_t>(lives.size())))->first);
}

void Simulation::expireSome() {
  for (uint64_t id : scheduler.expired(now))
    end(id);
}

std::string Simulation::checkPart(const StepPlan &plan, const PlannedPart &part, size_t row) {
  const Life &life = lives.at(part.request);
  if (part.first != kv.position(part.slot) || part.count == 0 ||
      part.first + part.count > life.tokens.size())
    return fmt::format("part of request {} is [{}, +{}) at position {}", part.request, part.first,
                       part.count, kv.position(part.slot));
  for (uint32_t i = 0; i < part.count; ++i) {
    const PlannedRow &planned = plan.rows[row + i];
    uint32_t index = part.first + i;
    bool last = index + 1 == life.tokens.size();
    bool reported = life.promptOutputs && index < life.prompt && index >= life.outputsSeen;
    if (planned.slot != part.slot || planned.token != life.tokens[index] ||
        planned.generated != (index >= life.prompt) || planned.output != (last || reported))
      return fmt::format("row {} of request {} is not its own", index, part.request);
  }
  return {};
}

/// The first in rank has a row; within a class, the first rows come in the order of arrival.
std::string Simulation::checkOrder(const StepPlan &plan) {
  std::set<uint64_t> planned;
  for (const PlannedPart &part : plan.parts)
    planned.insert(part.request);
  auto first = std::min_element(lives.begin(), lives.end(), [](const auto &a, const auto &b) {
    return std::pair(a.second.rank, a.first) < std::pair(b.second.rank, b.first);
  });
  for (auto &[id, life] : lives) {
    life.idleSteps = id == first->first && !planned.contains(id) ? life.idleSteps + 1 : 0;
    if (life.idleSteps > idleBound)
      return fmt::format("request {} is first in rank and had no row for {} steps", id,
                         life.idleSteps);
  }
  for (uint64_t id : planned)
    for (const auto &[other, life] : lives)
      if (other < id && !life.started && !planned.contains(other) &&
          life.priority == lives.at(id).priority && !lives.at(id).started)
        return fmt::format("request {} started before {} of its class", id, other);
  for (uint64_t id : planned)
    lives.at(id).started = true;
  return {};
}

std::string Simulation::check(const StepPlan &plan) {
  if (!plan.stuck.empty())
    return fmt::format("request {} is stuck", plan.stuck[0]);
  if (plan.rows.size() > setup.stepTokens)
    return fmt::format("{} rows of {}", plan.rows.size(), setup.stepTokens);
  uint32_t outputs = 0;
  size_t row = 0;
  for (const PlannedPart &part : plan.parts) {
    if (std::string wrong = checkPart(plan, part, row); !wrong.empty())
      return wrong;
    row += part.count;
    outputs += part.outputs;
  }
  if (outputs > schedulerOptions(setup).stepOutputs || row != plan.rows.size())
    return fmt::format("{} outputs, {} of {} rows", outputs, row, plan.rows.size());
  return checkOrder(plan);
}

std::string Simulation::compute(const StepPlan &plan) {
  for (const PlannedRow &row : plan.rows)
    kv.append(row.slot, {&row.token, 1});
  for (const PlannedPart &part : plan.parts)
    kv.commit(part.slot, part.first + part.count);
  std::vector<PlannedPart> parts = plan.parts;
  double seconds = secondsOf(plan);
  now += seconds;
  scheduler.ran(seconds);
  for (const PlannedPart &part : parts) {
    Life &life = lives.at(part.request);
    uint32_t done = part.first + part.count;
    if (life.promptOutputs)
      life.outputsSeen = std::max(life.outputsSeen, std::min(done, life.prompt));
    if (done < life.tokens.size())
      continue;
    if (!scheduler.progress(part.request).done()) {
      life.tokens.push_back(static_cast<int32_t>(below(1000)));
      scheduler.accept(part.request, life.tokens.back());
    }
    if (scheduler.progress(part.request).done() || below(60) == 0)
      end(part.request);
  }
  return {};
}

std::string Simulation::checkMemory() const {
  for (uint32_t g = 0; g < groups.size(); ++g) {
    KvGroupStats stats = kv.groupStats(g);
    if (stats.free + stats.held + stats.cached != stats.blocks)
      return fmt::format("group {} lost blocks: {} free, {} held, {} cached of {}", g, stats.free,
                         stats.held, stats.cached, stats.blocks);
    if (lives.empty() && stats.held != 0)
      return fmt::format("group {} holds {} blocks for nobody", g, stats.held);
  }
  return {};
}

std::string Simulation::step() {
  expireSome();
  if (lives.empty())
    return checkMemory();
  const StepPlan &plan = scheduler.plan(now);
  if (std::string wrong = check(plan); !wrong.empty())
    return wrong;
  if (plan.rows.empty())
    return "there are requests and no rows";
  if (std::string wrong = compute(plan); !wrong.empty())
    return wrong;
  return checkMemory();
}

std::string Simulation::run(uint64_t steps) {
  for (uint64_t i = 0; i < steps; ++i) {
    if (below(1000) < setup.arrivalsPerStep * 1000)
      arrive();
    if (lives.empty())
      now += 0.01;
    cancelSome();
    if (std::string wrong = step(); !wrong.empty())
      return fmt::format("step {}: {}", i, wrong);
  }
  return {};
}

std::string Simulation::drain() {
  uint64_t bound = uint64_t{setup.requests} * setup.context * 8;
  for (uint64_t i = 0; i < bound && !lives.empty(); ++i)
    if (std::string wrong = step(); !wrong.empty())
      return "draining: " + wrong;
  if (!lives.empty())
    return fmt::format("{} requests never ended", lives.size());
  return checkMemory();
}

} // namespace inf::test
