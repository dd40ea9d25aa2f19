#include "runtime/tools/chat/SessionAnswers.h"

#include <algorithm>
#include <chrono>
#include <deque>

#include <fmt/format.h>

#include "runtime/base/Error.h"

namespace inf {
namespace {

constexpr uint32_t sequence = 0;

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

} // namespace

SessionAnswers::SessionAnswers(Session &usedSession, const SamplingOptions &sampling)
    : session(usedSession), sampler(sampling, session.model().code().vocabulary) {}

std::span<const float> SessionAnswers::prefill(const AnswerRequest &request,
                                               const AnswerSinks &sinks, AnswerResult &result) {
  std::span<const int32_t> prompt = request.prompt;
  if (prompt.size() > session.context())
    fail(ErrorCode::TooLong,
         "the conversation has {} tokens, the context holds {}. Start a new one, or run with a "
         "larger --context.",
         prompt.size(), session.context());
  session.release(sequence); // the turn before, which most of this one begins as
  result.reusedTokens = session.attach(sequence, prompt);
  PrefillOptions options;
  options.cancelled = sinks.cancelled;
  return session.prefill(sequence, prompt.subspan(result.reusedTokens), options).logits;
}

std::span<const float> SessionAnswers::step(int32_t token) {
  RowRequest row = {token, sequence, INF_ROW_GENERATED, INF_OUTPUT_LOGITS};
  return session.step({&row, 1}).logits(0);
}

bool SessionAnswers::stops(int32_t id, const AnswerRequest &request) const {
  const std::vector<int64_t> &eos = session.model().manifest().eosTokens;
  return std::find(eos.begin(), eos.end(), id) != eos.end() ||
         std::find(request.stopTokens.begin(), request.stopTokens.end(), id) !=
             request.stopTokens.end();
}

void SessionAnswers::generate(std::span<const float> logits, const AnswerRequest &request,
                              const AnswerSinks &sinks, AnswerResult &result) {
  std::deque<int32_t> forced;
  while (result.generatedTokens < request.maxTokens) {
    if (sinks.cancelled()) {
      result.end = AnswerEnd::Cancelled;
      return;
    }
    int32_t token = forced.empty() ? sampler.sample(logits) : forced.front();
    bool chosen = forced.empty();
    if (!chosen)
      forced.pop_front();
    ++result.generatedTokens;
    if (chosen && stops(token, request)) {
      result.end = AnswerEnd::Stop;
      return;
    }
    AnswerStep next = sinks.token(token);
    forced.insert(forced.end(), next.force.begin(), next.force.end());
    // The last token's successor is not wanted or has no place: don't compute it.
    if (result.generatedTokens == request.maxTokens ||
        session.position(sequence) >= session.context())
      return;
    logits = step(token);
  }
}

AnswerResult SessionAnswers::answer(const AnswerRequest &request, const AnswerSinks &sinks) {
  AnswerResult result;
  result.promptTokens = request.prompt.size();
  Clock::time_point start = Clock::now();
  std::span<const float> logits = prefill(request, sinks, result);
  result.promptSeconds = secondsSince(start);
  if (logits.empty()) {
    result.end = AnswerEnd::Cancelled;
    return result;
  }
  start = Clock::now();
  generate(logits, request, sinks, result);
  result.answerSeconds = secondsSince(start);
  return result;
}

} // namespace inf
