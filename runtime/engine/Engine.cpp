#include "runtime/engine/Engine.h"

#include <future>
#include <thread>

#include "runtime/engine/EngineLoop.h"
#include "runtime/engine/SessionRunner.h"

namespace inf {
namespace {

constexpr uint32_t mostLogprobs = 20;
constexpr uint32_t mostAlive = 1 << 20; // far beyond use; keeps sums from wrapping

template <typename... Args>
[[noreturn]] void refuse(RefusalReason why, fmt::format_string<Args...> format, Args &&...args) {
  throw Refusal(why, fmt::format(format, std::forward<Args>(args)...));
}

const EngineOptions &checked(const EngineOptions &options) {
  if (options.sequences < 1 || options.sequences > 65536 || options.queue > mostAlive)
    fail(ErrorCode::Usage,
         "{} sequences and a queue of {} are not possible: expected 1 to 65536 and 0 to {}.",
         options.sequences, options.queue, mostAlive);
  if (!(options.stepSeconds > 0) || !(options.paceFactor > 1))
    fail(ErrorCode::Usage,
         "steps of {} s and a pace factor of {} are not possible: expected more than 0 and more "
         "than 1.",
         options.stepSeconds, options.paceFactor);
  return options;
}

void requireTokens(std::span<const int32_t> tokens, uint32_t vocabulary, const char *what) {
  for (int32_t token : tokens)
    if (token < 0 || static_cast<uint32_t>(token) >= vocabulary)
      refuse(RefusalReason::Invalid, "{} {} is unknown: the vocabulary is 0 to {}.", what, token,
             vocabulary - 1);
}

void check(const CompletionRequest &request, const ServiceLimits &limits) {
  if (request.prompt.empty())
    refuse(RefusalReason::Invalid, "the prompt has no tokens; expected at least one.");
  if (request.prompt.size() > limits.context)
    refuse(RefusalReason::TooLong,
           "the prompt has {} tokens, the context holds {}. Shorten it, or use a larger context.",
           request.prompt.size(), limits.context);
  if (request.prompt.size() > limits.capacity)
    refuse(RefusalReason::TooLong,
           "the prompt has {} tokens, all memory for keys and values holds {}. Shorten it, or give "
           "more memory.",
           request.prompt.size(), limits.capacity);
  requireTokens(request.prompt, limits.vocabulary, "token id");
  requireTokens(request.stopTokens, limits.vocabulary, "stop token");
  requireTokens(request.sampling.stopTokens, limits.vocabulary, "stop token");
  requireTokens(request.sampling.dryBreakers, limits.vocabulary, "DRY breaker");
  for (const LogitBias &bias : request.sampling.logitBias)
    requireTokens({&bias.id, 1}, limits.vocabulary, "the logit bias's token");
  if (request.logprobs && *request.logprobs > mostLogprobs)
    refuse(RefusalReason::Invalid, "{} log-probabilities were asked for, expected at most {}.",
           *request.logprobs, mostLogprobs);
  if (request.deadline && request.deadline->count() < 0)
    refuse(RefusalReason::Invalid, "the deadline is {} ms from now, expected 0 or more.",
           request.deadline->count());
  try {
    request.sampling.validate();
  } catch (const Error &error) {
    refuse(RefusalReason::Invalid, "{}", error.what());
  }
}

} // namespace

struct Engine::State {
  State(const MakeRunner &makeRunner, const EngineOptions &engineOptions);
  ~State() {
    mailbox.stop();
    if (thread.joinable())
      thread.join();
  }
  void work(const MakeRunner &makeRunner, std::promise<void> &ready);

  const EngineOptions options;
  const EngineClock clock;
  Mailbox mailbox;
  EngineMetrics metrics;
  ServiceLimits limits; // written before the constructor returns
  std::thread thread;
};

Engine::State::State(const MakeRunner &makeRunner, const EngineOptions &engineOptions)
    : options(checked(engineOptions)), mailbox(options.sequences + options.queue) {
  std::promise<void> ready;
  std::future<void> opened = ready.get_future();
  thread = std::thread([&] { work(makeRunner, ready); });
  try {
    opened.get();
  } catch (...) {
    thread.join();
    throw;
  }
}

/// `makeRunner` and `ready` are gone once ready has a value.
void Engine::State::work(const MakeRunner &makeRunner, std::promise<void> &ready) {
  std::unique_ptr<StepRunner> runner;
  std::optional<EngineLoop> loop;
  try {
    runner = makeRunner();
    loop.emplace(*runner, options, clock, mailbox, metrics);
    RunnerFacts facts = runner->facts();
    limits = {facts.vocabulary, facts.context, options.sequences, options.queue, loop->capacity()};
  } catch (...) {
    ready.set_exception(std::current_exception());
    return;
  }
  ready.set_value();
  loop->run();
}

Engine::Engine(std::shared_ptr<const Model> model, const EngineOptions &options)
    : Engine([&] { return makeSessionRunner(model, options); }, options) {}

Engine::Engine(const MakeRunner &makeRunner, const EngineOptions &options)
    : state(std::make_unique<State>(makeRunner, options)) {}
Engine::~Engine() = default;

std::vector<uint64_t> Engine::submitAll(std::vector<CompletionJob> jobs) {
  for (const CompletionJob &job : jobs) {
    if (!job.sink)
      fail(ErrorCode::Internal, "a request without a sink");
    check(job.request, state->limits);
  }
  return state->mailbox.submit(std::move(jobs), state->clock.now());
}

void Engine::cancel(uint64_t request) { state->mailbox.cancel(request); }

void Engine::drain(std::chrono::milliseconds grace) {
  state->mailbox.close();
  if (state->mailbox.waitUntilEmpty(grace))
    return;
  state->mailbox.cancelAll();
  state->mailbox.waitUntilEmpty();
}

ServiceLimits Engine::limits() const { return state->limits; }

std::optional<StepThreadsReport> Engine::decodeThreads() const {
  return state->metrics.decodeThreads();
}

ServiceMetrics Engine::metrics() const {
  ServiceMetrics now = state->metrics.read();
  now.refusedFull = state->mailbox.refusedFull();
  return now;
}

} // namespace inf
