#include "runtime/tools/bench/Runner.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "runtime/session/Traffic.h"

namespace inf {
namespace {

using Clock = std::chrono::steady_clock;

// Prime, so that the sequences of a batch differ; long enough that no prompt of usual length
// repeats itself.
constexpr uint64_t idCount = 65'537, idShift = 4'099;

// The generator's output is fixed by the standard, a distribution's is not: hence the remainder.
std::vector<int32_t> randomIds(uint32_t vocabulary) {
  std::mt19937_64 random(20240229);
  std::vector<int32_t> ids(idCount);
  for (int32_t &id : ids)
    id = static_cast<int32_t>(random() % vocabulary);
  return ids;
}

double rate(double amount, double seconds) { return seconds > 0 ? amount / seconds : 0; }

/// Of each repeat's amount(i) a second, over what the machine gave then.
std::optional<double> medianShare(const BenchRun &run, auto amount, auto limit) {
  std::vector<double> shares;
  for (size_t i = 0; i < std::min(run.seconds.size(), run.roof.size()); ++i)
    if (limit(run.roof[i]) > 0)
      shares.push_back(rate(amount(i), run.seconds[i]) / limit(run.roof[i]));
  if (shares.empty())
    return std::nullopt;
  return median(std::move(shares));
}

} // namespace

double BenchRun::tokensPerSecond() const {
  return rate(static_cast<double>(tokens * batch), median(seconds));
}

double BenchRun::bytesPerSecond() const {
  std::vector<double> rates;
  for (size_t i = 0; i < seconds.size(); ++i)
    rates.push_back(rate(static_cast<double>(bytes[i]), seconds[i]));
  return median(std::move(rates));
}

std::optional<double> BenchRun::operationsPerSecond() const {
  if (!macs)
    return std::nullopt;
  return rate(2 * static_cast<double>(*macs), median(seconds));
}

std::optional<double> BenchRun::bandwidthFraction() const {
  return medianShare(
      *this, [&](size_t i) { return static_cast<double>(bytes[i]); },
      [](const RoofRates &rates) { return rates.bandwidth; });
}

std::optional<double> BenchRun::operationsFraction(DotKind product) const {
  if (!macs)
    return std::nullopt;
  return medianShare(
      *this, [&](size_t) { return 2 * static_cast<double>(*macs); },
      [&](const RoofRates &rates) { return rates.operations[static_cast<size_t>(product)]; });
}

Runner::Runner(Session &theSession, const BenchOptions &theOptions, Roof *theRoof,
               StageTimer *theTimer)
    : session(theSession), options(theOptions), roof(theRoof), timer(theTimer),
      work(modelWork(theSession.model().manifest())),
      experts(ExpertCounter::create(theSession.model().manifest())),
      ids(randomIds(theSession.model().code().vocabulary)) {
  rows.reserve(session.maxRows());
}

int32_t Runner::tokenAt(uint64_t text, uint64_t position) const {
  return ids[(position + (options.sameText ? 0 : text * idShift)) % idCount];
}

/// One step of `rows`, timed, its work added up.
void Runner::step(Lane &lane, std::span<const RowRequest> requests, uint64_t bytesOfKv) {
  StepRows shape = {requests.size(), 0};
  for (const RowRequest &row : requests)
    shape.outputs += row.output != INF_OUTPUT_NONE;
  if (timer)
    timer->begin(lane.run.stages);
  const Clock::time_point start = Clock::now();
  const StepResult result = session.step(requests);
  lane.tally.seconds += std::chrono::duration<double>(Clock::now() - start).count();
  if (timer)
    timer->end();

  Tally &tally = lane.tally;
  const WeightTraffic bound = weightTraffic(work, shape);
  const WeightTraffic traffic = counting ? weightTraffic(work, shape, experts->take()) : bound;
  tally.unread += bound.bytes - std::min(bound.bytes, traffic.bytes);
  const std::optional<uint64_t> stepMacs = multiplyAccumulates(work, shape);
  tally.bytes += traffic.bytes + bytesOfKv;
  tally.bytesExact = tally.bytesExact && traffic.exact;
  tally.macs = tally.macs && stepMacs ? std::optional(*tally.macs + *stepMacs) : std::nullopt;
  if (result.outputRows != 0)
    tally.hash = logitsHash(result.logits(result.outputRows - 1));
}

void Runner::runPrompt(Lane &lane, uint64_t sequence, uint64_t text, uint64_t tokens) {
  const auto number = static_cast<uint32_t>(sequence);
  session.reset(number);
  for (uint64_t done = 0; done < tokens;) {
    const uint64_t count = std::min<uint64_t>(session.maxRows(), tokens - done);
    rows.clear();
    for (uint64_t i = 0; i < count; ++i)
      rows.push_back(
          {tokenAt(text, done + i), number, INF_ROW_PROMPT,
           done + i + 1 == tokens ? uint8_t{INF_OUTPUT_LOGITS} : uint8_t{INF_OUTPUT_NONE}});
    step(lane, rows, kvBytesOfStep(session.model().code(), done, count));
    done += count;
  }
}

/// A token for each sequence of the lane.
void Runner::decodeStep(Lane &lane) {
  rows.clear();
  uint64_t bytesOfKv = 0;
  for (uint64_t i = 0; i < lane.run.batch; ++i) {
    const auto number = static_cast<uint32_t>(lane.firstSequence + i);
    const uint64_t position = session.position(number);
    rows.push_back({tokenAt(i, position), number, INF_ROW_GENERATED, INF_OUTPUT_LOGITS});
    bytesOfKv += kvBytesOfStep(session.model().code(), position, 1);
  }
  step(lane, rows, bytesOfKv);
}

void Runner::decodeSteps(std::vector<Lane> &lanes, uint64_t steps) {
  for (uint64_t i = 0; i < steps; ++i)
    for (Lane &lane : lanes)
      decodeStep(lane);
}

void Runner::fill(Lane &lane, uint64_t context) {
  for (uint64_t i = 0; i < lane.run.batch; ++i)
    runPrompt(lane, lane.firstSequence + i, i, context);
}

/// A sample for the repeat before it and for the one behind it.
void Runner::sampleRoof(std::vector<Lane> &lanes) {
  if (!roof)
    return;
  roof->sample();
  for (Lane &lane : lanes) {
    std::vector<RoofRates> &around = lane.run.roof;
    if (!around.empty())
      around.back().joinBetter(roof->last());
    if (around.size() < options.repeat)
      around.push_back(roof->last());
  }
}

void Runner::repeat(std::vector<Lane> &lanes, const std::function<void()> &prepare,
                    const std::function<void()> &measured) {
  for (Lane &lane : lanes)
    lane.run.stages.clear();
  for (uint64_t i = 0; i < options.repeat; ++i) {
    prepare();
    sampleRoof(lanes);
    for (Lane &lane : lanes)
      lane.tally = {};
    measured();
    for (Lane &lane : lanes) {
      lane.run.seconds.push_back(lane.tally.seconds);
      lane.run.bytes.push_back(lane.tally.bytes);
    }
  }
  sampleRoof(lanes);
  bool exact = true;
  for (Lane &lane : lanes) {
    lane.run.macs = lane.tally.macs;
    lane.run.bytesExact = lane.tally.bytesExact;
    lane.run.hash = lane.tally.hash;
    exact = exact && lane.run.bytesExact;
  }
  if (!exact && experts && !timer)
    countExperts(lanes, prepare, measured);
}

void Runner::countExperts(std::vector<Lane> &lanes, const std::function<void()> &prepare,
                          const std::function<void()> &measured) {
  prepare();
  session.setBarrierHook(experts->hook());
  counting = true;
  for (Lane &lane : lanes)
    lane.tally = {};
  measured();
  counting = false;
  session.setBarrierHook({});
  for (Lane &lane : lanes) {
    if (!lane.tally.bytesExact)
      continue;
    for (uint64_t &each : lane.run.bytes)
      each -= std::min(each, lane.tally.unread);
    lane.run.bytesExact = true;
  }
}

BenchRun Runner::prefill(uint64_t tokens) {
  std::vector<Lane> lanes(1);
  lanes[0].run.tokens = tokens;
  auto run = [&] { runPrompt(lanes[0], 0, 0, tokens); };
  run();
  repeat(
      lanes, [] {}, run);
  return std::move(lanes[0].run);
}

std::vector<BenchRun> Runner::decode(std::span<const uint64_t> contexts, uint64_t batch) {
  std::vector<Lane> lanes(contexts.size());
  for (size_t i = 0; i < lanes.size(); ++i) {
    lanes[i].run.kind = RunKind::Decode;
    lanes[i].run.tokens = options.generatedTokens;
    lanes[i].run.batch = batch;
    lanes[i].firstSequence = i * batch;
    fill(lanes[i], contexts[i]);
  }
  decodeSteps(lanes, warmUpTokens(options.generatedTokens));
  for (size_t i = 0; i < lanes.size(); ++i)
    lanes[i].run.context =
        contexts[i] == 0 ? 0 : session.position(static_cast<uint32_t>(lanes[i].firstSequence));
  repeat(
      lanes,
      [&] {
        for (size_t i = 0; i < lanes.size(); ++i)
          if (contexts[i] == 0)
            fill(lanes[i], 0);
      },
      [&] { decodeSteps(lanes, options.generatedTokens); });
  std::vector<BenchRun> runs;
  for (Lane &lane : lanes)
    runs.push_back(std::move(lane.run));
  return runs;
}

} // namespace inf
