#include "runtime/engine/EngineLoop.h"

#include <algorithm>
#include <utility>

#include "runtime/sampler/Logprobs.h"

namespace inf {
namespace {

SchedulerOptions schedulerOptions(const RunnerFacts &facts, const EngineOptions &options) {
  SchedulerOptions made;
  made.requests = options.sequences + options.queue;
  made.context = facts.context;
  made.stepTokens =
      options.stepTokens == 0 ? facts.stepTokens : std::min(options.stepTokens, facts.stepTokens);
  made.stepOutputs = facts.stepOutputs;
  made.growthTokens = options.growthTokens;
  made.costs.paceFactor = options.paceFactor;
  made.costs.stepSeconds = options.stepSeconds;
  return made;
}

} // namespace

EngineLoop::EngineLoop(StepRunner &stepRunner, const EngineOptions &options,
                       const EngineClock &engineClock, Mailbox &requestMailbox,
                       EngineMetrics &engineMetrics)
    : runner(stepRunner), facts(runner.facts()), clock(engineClock), mailbox(requestMailbox),
      metrics(engineMetrics), scheduler(schedulerOptions(facts, options), runner.kv()) {
  publish(false);
}

void EngineLoop::run() {
  while (handleMail()) {
    try {
      expire();
      step();
    } catch (const std::exception &error) {
      endAll(CompletionEnd::Error, error.what());
    }
  }
}

bool EngineLoop::handleMail() {
  Mail mail = mailbox.take(actives.empty());
  for (Submission &submission : mail.submissions)
    begin(std::move(submission));
  for (uint64_t id : mail.cancelled)
    if (actives.contains(id))
      end(id, CompletionEnd::Cancelled);
  if (mail.cancelAll)
    endAll(CompletionEnd::Cancelled, {});
  return !mail.stop;
}

void EngineLoop::begin(Submission submission) {
  ScheduledRequest scheduled;
  CompletionRequest &request = submission.request;
  scheduled.id = submission.id;
  scheduled.prompt = request.prompt;
  scheduled.tenant = request.tenant;
  scheduled.priority = request.priority;
  scheduled.maxTokens = request.maxTokens;
  scheduled.promptOutputs = request.promptLogprobs;
  if (request.deadline)
    scheduled.expiry =
        submission.submitted + std::chrono::duration<double>(*request.deadline).count();
  Active &active = actives[submission.id];
  active.request = std::move(request);
  active.sink = std::move(submission.sink);
  active.submitted = submission.submitted;
  try {
    scheduler.add(std::move(scheduled), submission.submitted);
  } catch (const std::exception &error) {
    end(submission.id, CompletionEnd::Error, error.what());
  }
}

void EngineLoop::endAll(CompletionEnd why, const std::string &error) {
  while (!actives.empty())
    end(actives.begin()->first, why, error);
}

void EngineLoop::expire() {
  for (uint64_t id : scheduler.expired(clock.now()))
    end(id, CompletionEnd::Deadline);
}

void EngineLoop::step() {
  if (actives.empty())
    return;
  const StepPlan &plan = scheduler.plan(clock.now());
  publish(false); // a first step may take long; its requests count as running meanwhile
  for (uint64_t id : plan.stuck)
    end(id, CompletionEnd::Error, "there is no memory for the next token's keys and values.");
  if (plan.rows.empty() || !runPlanned(plan))
    return;
  const std::vector<PlannedPart> parts = plan.parts; // requests that end leave the plan
  uint32_t output = 0;
  for (const PlannedPart &part : parts) {
    deliver(part, output);
    output += part.outputs;
  }
  publish(true);
}

/// False when the step failed; its requests have ended then.
bool EngineLoop::runPlanned(const StepPlan &plan) {
  double begun = clock.now();
  try {
    runner.run(plan.rows);
    scheduler.ran(clock.now() - begun);
    return true;
  } catch (const std::exception &error) {
    const std::vector<PlannedPart> parts = plan.parts;
    for (const PlannedPart &part : parts)
      end(part.request, CompletionEnd::Error, error.what());
    return false;
  }
}

void EngineLoop::deliver(const PlannedPart &part, uint32_t firstOutput) {
  auto active = actives.find(part.request);
  if (active == actives.end())
    return;
  try {
    for (uint32_t i = 0; i < part.outputs; ++i)
      takeLogits(part.request, active->second, part.first + part.count - part.outputs + i,
                 runner.logits(firstOutput + i));
  } catch (const std::exception &error) {
    end(part.request, CompletionEnd::Error, error.what());
  }
}

void EngineLoop::takeLogits(uint64_t id, Active &active, uint32_t position,
                            std::span<const float> logits) {
  if (position + 1 < active.request.prompt.size())
    reportPrompt(active, position, logits);
  else
    nextToken(id, active, logits);
}

void EngineLoop::reportPrompt(Active &active, uint32_t position, std::span<const float> logits) {
  TokenEvent event;
  event.id = active.request.prompt[position + 1];
  RowLogprobs row = rowLogprobs(logits, event.id, active.request.logprobs.value_or(0));
  event.logprob = row.chosen.logprob;
  event.top = row.best;
  active.sink->promptToken(event);
}

/// What the sampler knows besides the options: which tokens stop, and what the sequence holds.
Sampler &EngineLoop::samplerOf(Active &active) {
  if (active.sampler)
    return *active.sampler;
  SamplingOptions sampling = active.request.sampling;
  std::vector<int32_t> &stops = sampling.stopTokens;
  stops.insert(stops.end(), active.request.stopTokens.begin(), active.request.stopTokens.end());
  if (!active.request.ignoreEos)
    stops.insert(stops.end(), facts.stopTokens.begin(), facts.stopTokens.end());
  active.sampler.emplace(sampling, facts.vocabulary);
  active.sampler->acceptPrompt(active.request.prompt);
  return *active.sampler;
}

int32_t EngineLoop::choose(Active &active, std::span<const float> logits, bool forced) {
  Sampler &sampler = samplerOf(active);
  int32_t token = forced ? active.forced.front() : sampler.sample(logits);
  if (forced)
    active.forced.pop_front();
  if (token < 0 || static_cast<uint32_t>(token) >= facts.vocabulary)
    fail(ErrorCode::Usage, "the token {} to go on with is unknown: the vocabulary is 0 to {}.",
         token, facts.vocabulary - 1);
  return token;
}

bool EngineLoop::isStop(const Active &active, int32_t token) const {
  auto in = [token](const std::vector<int32_t> &ids) {
    return std::find(ids.begin(), ids.end(), token) != ids.end();
  };
  return in(active.request.stopTokens) || (!active.request.ignoreEos && in(facts.stopTokens));
}

void EngineLoop::nextToken(uint64_t id, Active &active, std::span<const float> logits) {
  if (scheduler.progress(id).done()) { // no token was asked for, only the prompt's probabilities
    end(id, CompletionEnd::Length);
    return;
  }
  TokenEvent event;
  event.forced = !active.forced.empty();
  event.id = choose(active, logits, event.forced);
  event.stop = isStop(active, event.id);
  if (!active.request.logprobs) {
    tell(id, active, event);
    return;
  }
  RowLogprobs row = rowLogprobs(logits, event.id, *active.request.logprobs);
  event.logprob = row.chosen.logprob;
  event.top = row.best;
  tell(id, active, event);
}

void EngineLoop::tell(uint64_t id, Active &active, const TokenEvent &event) {
  scheduler.accept(id, event.id);
  active.sampler->accept(event.id);
  double now = clock.now();
  metrics.token(active.lastToken == 0 ? 0 : now - active.lastToken);
  active.lastToken = now;
  if (active.firstToken == 0)
    active.firstToken = now;
  TokenVerdict verdict = active.sink->token(event);
  active.forced.insert(active.forced.end(), verdict.force.begin(), verdict.force.end());
  if (verdict.abandon)
    end(id, CompletionEnd::Cancelled);
  else if (event.stop)
    end(id, CompletionEnd::Stop);
  else if (verdict.finish)
    end(id, CompletionEnd::Sink);
  else if (scheduler.progress(id).done())
    end(id, CompletionEnd::Length);
}

void EngineLoop::end(uint64_t id, CompletionEnd why, const std::string &error) {
  auto node = actives.extract(id);
  if (node.empty())
    return;
  Active &active = node.mapped();
  CompletionResult result;
  result.end = why;
  result.error = error;
  result.promptTokens = static_cast<uint32_t>(active.request.prompt.size());
  result.seconds = clock.now() - active.submitted;
  if (active.firstToken != 0)
    result.firstTokenSeconds = active.firstToken - active.submitted;
  bool started = false;
  if (scheduler.has(id)) {
    RequestProgress progress = scheduler.progress(id);
    result.cachedTokens = progress.cachedTokens;
    result.generatedTokens = progress.generated;
    started = progress.startedAt.has_value();
    result.queuedSeconds = started ? *progress.startedAt - active.submitted : result.seconds;
    scheduler.remove(id);
  }
  metrics.ended(result, started);
  publish(false);
  mailbox.ended(); // its place is free before anybody hears of it
  try {
    active.sink->finished(result);
  } catch (const std::exception &) {
    // There is nobody left to tell: the sink is the one that hears of errors.
  }
  active.sink.reset();
  mailbox.sinkGone();
}

void EngineLoop::publish(bool ran) {
  metrics.stepped(scheduler.counts(), runner.kv().stats(), ran);
  metrics.decoded(runner.decodeThreads());
}

} // namespace inf
