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

void SessionAnswers::reuse(std::span<const int32_t> prompt, AnswerResult &result) {
  size_t most = std::min(held.size(), prompt.size() - 1); // the last one must run to give logits
  size_t common = static_cast<size_t>(
      std::mismatch(held.begin(), held.begin() + static_cast<ptrdiff_t>(most), prompt.begin())
          .first -
      held.begin());
  if (common < held.size() && common > 0)
    try {
      session.rollback(sequence, static_cast<uint32_t>(held.size() - common));
    } catch (const Error &error) {
      if (error.code != ErrorCode::Usage)
        throw;
      result.lost = fmt::format("the model's attention windows no longer held what the tokens "
                                "after position {} see",
                                common);
      common = 0;
    }
  if (common == 0)
    session.reset(sequence);
  held.resize(common);
  result.reusedTokens = common;
}

std::span<const float> SessionAnswers::prefill(const AnswerRequest &request,
                                               const AnswerSinks &sinks, AnswerResult &result) {
  std::span<const int32_t> prompt = request.prompt;
  if (prompt.size() > session.context())
    fail(ErrorCode::TooLong,
         "the conversation has {} tokens, the context holds {}. Start a new one, or run with a "
         "larger --context.",
         prompt.size(), session.context());
  reuse(prompt, result);
  PrefillOptions options;
  options.cancelled = sinks.cancelled;
  std::span<const int32_t> rest = prompt.subspan(held.size());
  PrefillResult done = session.prefill(sequence, rest, options);
  held.insert(held.end(), rest.begin(), rest.begin() + static_cast<ptrdiff_t>(done.tokens));
  return done.logits;
}

std::span<const float> SessionAnswers::step(int32_t token) {
  RowRequest row = {token, sequence, INF_ROW_GENERATED, INF_OUTPUT_LOGITS};
  StepResult done = session.step({&row, 1});
  held.push_back(token);
  return done.logits(0);
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
