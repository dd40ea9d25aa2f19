#include "tests/runtime/server/ScriptedService.h"

#include <algorithm>
#include <deque>

namespace inf::test {

ScriptedService::ScriptedService(ServiceLimits serviceLimits, Author scriptAuthor)
    : capacity(serviceLimits), author(std::move(scriptAuthor)) {}

ScriptedService::~ScriptedService() { drain(std::chrono::milliseconds(0)); }

void ScriptedService::setAuthor(Author scriptAuthor) {
  std::lock_guard lock(mutex);
  author = std::move(scriptAuthor);
}

void ScriptedService::refuseNext(RefusalReason reason, std::string message) {
  std::lock_guard lock(mutex);
  refusals.emplace_back(reason, std::move(message));
}

std::vector<CompletionRequest> ScriptedService::requests() const {
  std::lock_guard lock(mutex);
  return asked;
}

uint64_t ScriptedService::tokensMade() const {
  std::lock_guard lock(mutex);
  return counts.generatedTokens;
}

ServiceMetrics ScriptedService::metrics() const {
  std::lock_guard lock(mutex);
  return counts;
}

std::vector<uint64_t> ScriptedService::submitAll(std::vector<CompletionJob> jobs) {
  std::lock_guard lock(mutex);
  if (!refusals.empty()) {
    const auto [reason, message] = refusals.front();
    refusals.erase(refusals.begin());
    throw Refusal(reason, message);
  }
  if (closing)
    throw Refusal(RefusalReason::Closing, "the service is closing");
  if (counts.running + jobs.size() > capacity.places()) {
    counts.refusedFull += jobs.size();
    throw Refusal(RefusalReason::Busy, "the queue is full");
  }
  std::vector<uint64_t> numbers;
  for (CompletionJob &job : jobs)
    numbers.push_back(start(std::move(job.request), std::move(job.sink)));
  return numbers;
}

/// With the mutex held.
uint64_t ScriptedService::start(CompletionRequest request, std::shared_ptr<CompletionSink> sink) {
  const Script script = author(request);
  asked.push_back(request);
  const uint64_t number = ++last;
  ++counts.running;
  running[number].thread = std::thread([this, number, request, script, sink = std::move(sink)] {
    run(number, request, script, sink);
  });
  return number;
}

void ScriptedService::cancel(uint64_t request) {
  std::lock_guard lock(mutex);
  const auto found = running.find(request);
  if (found == running.end() || found->second.done)
    return;
  found->second.cancelled = true;
  changed.notify_all();
}

/// False when cancelled meanwhile.
bool ScriptedService::wait(uint64_t number, std::chrono::microseconds time) {
  std::unique_lock lock(mutex);
  // The thread may be here before submit() has entered it into `running`; the mutex orders that.
  return !changed.wait_for(lock, time, [&] { return running.at(number).cancelled; });
}

void ScriptedService::run(uint64_t number, const CompletionRequest &request, const Script &script,
                          std::shared_ptr<CompletionSink> sink) {
  CompletionResult result;
  result.end = script.end;
  result.error = script.error;
  result.promptTokens = uint32_t(request.prompt.size());
  result.cachedTokens = script.cached;
  bool alive = wait(number, script.prefill);
  if (alive && request.promptLogprobs)
    for (size_t i = 1; i < request.prompt.size(); ++i)
      sink->promptToken({request.prompt[i], false, false, -double(i), {}});
  std::deque<std::pair<int32_t, bool>> next; // token, forced
  for (int32_t token : script.tokens)
    next.emplace_back(token, false);
  while (alive && !next.empty()) {
    if (result.generatedTokens == request.maxTokens) {
      result.end = CompletionEnd::Length;
      break;
    }
    if (script.perToken.count() > 0 && !(alive = wait(number, script.perToken)))
      break;
    const auto [id, forced] = next.front();
    next.pop_front();
    const TokenLogprob top[] = {{id, -0.25}, {id == 0 ? 1 : 0, -2.5}};
    TokenEvent event;
    event.id = id;
    event.forced = forced;
    event.stop = next.empty() && script.end == CompletionEnd::Stop;
    if (request.logprobs) {
      event.logprob = -0.25;
      event.top = std::span(top).first(std::min<size_t>(*request.logprobs, 2));
    }
    ++result.generatedTokens;
    {
      std::lock_guard lock(mutex);
      ++counts.generatedTokens;
    }
    const TokenVerdict verdict = sink->token(event);
    if (verdict.abandon) {
      alive = false;
      break;
    }
    if (verdict.finish && !event.stop) {
      result.end = CompletionEnd::Sink;
      break;
    }
    for (size_t i = verdict.force.size(); i-- > 0;)
      next.emplace_front(verdict.force[i], true);
    alive = wait(number, std::chrono::microseconds(0));
  }
  if (!alive)
    result.end = CompletionEnd::Cancelled;
  sink->finished(result);
  sink.reset();
  std::lock_guard lock(mutex);
  running.at(number).done = true;
  --counts.running;
  counts.cancelled += alive ? 0 : 1;
  counts.finishedStop += result.end == CompletionEnd::Stop ? 1 : 0;
  changed.notify_all();
}

bool ScriptedService::idleWithin(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex);
  return changed.wait_for(lock, time, [this] { return counts.running == 0; });
}

void ScriptedService::drain(std::chrono::milliseconds grace) {
  std::unique_lock lock(mutex);
  closing = true;
  changed.wait_for(lock, grace, [this] { return counts.running == 0; });
  for (auto &[number, one] : running)
    one.cancelled = true;
  changed.notify_all();
  std::map<uint64_t, Running> all;
  changed.wait(lock, [this] { return counts.running == 0; });
  all.swap(running);
  lock.unlock();
  for (auto &[number, one] : all)
    one.thread.join();
}

} // namespace inf::test
