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

std::optional<double> BenchRun::bandwidthFraction() const {
  std::vector<double> shares;
  for (size_t i = 0; i < std::min(seconds.size(), bandwidth.size()); ++i)
    if (bandwidth[i] > 0)
      shares.push_back(rate(static_cast<double>(bytes[i]), seconds[i]) / bandwidth[i]);
  if (shares.empty())
    return std::nullopt;
  return median(std::move(shares));
}

std::optional<double> BenchRun::operationsPerSecond() const {
  if (!macs)
    return std::nullopt;
  return rate(2 * static_cast<double>(*macs), median(seconds));
}

Runner::Runner(Session &theSession, const BenchOptions &theOptions, Roof *theRoof,
               StageTimer *theTimer)
    : session(theSession), options(theOptions), roof(theRoof), timer(theTimer),
      work(modelWork(theSession.model().manifest())),
      experts(ExpertCounter::create(theSession.model().manifest())),
      ids(randomIds(theSession.model().code().vocabulary)) {
  rows.reserve(session.maxRows());
}

int32_t Runner::tokenAt(uint64_t sequence, uint64_t position) const {
  return ids[(position + sequence * idShift) % idCount];
}

void Runner::startCounting() {
  seconds = 0;
  bytes = unread = 0;
  macs = 0;
  bytesExact = true;
}

/// One step of `rows`, timed, its work added up.
void Runner::step(std::span<const RowRequest> requests, uint64_t bytesOfKv) {
  StepRows shape = {requests.size(), 0};
  for (const RowRequest &row : requests)
    shape.outputs += row.output != INF_OUTPUT_NONE;
  if (timer)
    timer->begin();
  const Clock::time_point start = Clock::now();
  const StepResult result = session.step(requests);
  seconds += std::chrono::duration<double>(Clock::now() - start).count();
  if (timer)
    timer->end();

  const WeightTraffic bound = weightTraffic(work, shape);
  const WeightTraffic traffic = counting ? weightTraffic(work, shape, experts->take()) : bound;
  unread += bound.bytes - std::min(bound.bytes, traffic.bytes);
  const std::optional<uint64_t> stepMacs = multiplyAccumulates(work, shape);
  bytes += traffic.bytes + bytesOfKv;
  bytesExact = bytesExact && traffic.exact;
  macs = macs && stepMacs ? std::optional(*macs + *stepMacs) : std::nullopt;
  if (result.outputRows != 0)
    hash = logitsHash(result.logits(result.outputRows - 1));
}

/// Prompt rows of one sequence, as many a step as the plan holds; only the last wants logits.
void Runner::runPrompt(uint64_t sequence, uint64_t tokens) {
  const auto number = static_cast<uint32_t>(sequence);
  for (uint64_t done = 0; done < tokens;) {
    const uint64_t count = std::min<uint64_t>(session.maxRows(), tokens - done);
    const uint64_t first = session.position(number);
    rows.clear();
    for (uint64_t i = 0; i < count; ++i)
      rows.push_back(
          {tokenAt(sequence, first + i), number, INF_ROW_PROMPT,
           done + i + 1 == tokens ? uint8_t{INF_OUTPUT_LOGITS} : uint8_t{INF_OUTPUT_NONE}});
    step(rows, kvBytesOfStep(session.model().code(), first, count));
    done += count;
  }
}

void Runner::decodeSteps(uint64_t steps, uint64_t batch) {
  for (uint64_t i = 0; i < steps; ++i) {
    rows.clear();
    uint64_t bytesOfKv = 0;
    for (uint64_t sequence = 0; sequence < batch; ++sequence) {
      const auto number = static_cast<uint32_t>(sequence);
      const uint64_t position = session.position(number);
      rows.push_back({tokenAt(sequence, position), number, INF_ROW_GENERATED, INF_OUTPUT_LOGITS});
      bytesOfKv += kvBytesOfStep(session.model().code(), position, 1);
    }
    step(rows, bytesOfKv);
  }
}

void Runner::fill(uint64_t sequence, uint64_t tokens) {
  session.reset(static_cast<uint32_t>(sequence));
  runPrompt(sequence, tokens);
}

/// A sample for the repeat before it and for the one behind it.
void Runner::sampleRoof(BenchRun &run) {
  if (!roof)
    return;
  roof->sample();
  if (!run.bandwidth.empty())
    run.bandwidth.back() = std::max(run.bandwidth.back(), roof->lastBandwidth());
  if (run.bandwidth.size() < options.repeat)
    run.bandwidth.push_back(roof->lastBandwidth());
}

void Runner::repeat(BenchRun &run, const std::function<void()> &prepare,
                    const std::function<void()> &measured) {
  if (timer)
    timer->clear();
  for (uint64_t i = 0; i < options.repeat; ++i) {
    prepare();
    sampleRoof(run);
    startCounting();
    measured();
    run.seconds.push_back(seconds);
    run.bytes.push_back(bytes);
  }
  sampleRoof(run);
  run.macs = macs;
  run.bytesExact = bytesExact;
  run.hash = hash;
  if (!bytesExact && experts && !timer)
    countExperts(run, prepare, measured);
}

void Runner::countExperts(BenchRun &run, const std::function<void()> &prepare,
                          const std::function<void()> &measured) {
  prepare();
  session.setBarrierHook(experts->hook());
  counting = true;
  startCounting();
  measured();
  counting = false;
  session.setBarrierHook({});
  if (!bytesExact)
    return;
  for (uint64_t &each : run.bytes)
    each -= std::min(each, unread);
  run.bytesExact = true;
}

BenchRun Runner::prefill(uint64_t tokens) {
  BenchRun run;
  run.tokens = tokens;
  fill(0, tokens);
  repeat(
      run, [] {}, [&] { fill(0, tokens); });
  return run;
}

BenchRun Runner::decode(uint64_t context, uint64_t batch) {
  BenchRun run;
  run.kind = RunKind::Decode;
  run.tokens = options.generatedTokens;
  run.batch = batch;
  auto start = [&] {
    for (uint64_t sequence = 0; sequence < batch; ++sequence)
      fill(sequence, context);
  };
  start();
  decodeSteps(warmUpTokens(options.generatedTokens), batch);
  run.context = context == 0 ? 0 : session.position(0);
  repeat(
      run,
      [&] {
        if (context == 0)
          start();
      },
      [&] { decodeSteps(options.generatedTokens, batch); });
  return run;
}

} // namespace inf
