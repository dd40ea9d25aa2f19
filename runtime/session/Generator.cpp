#include "runtime/session/Generator.h"

#include <algorithm>
#include <chrono>

#include "runtime/base/Error.h"
#include "runtime/session/Traffic.h"

namespace inf {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double perSecond(uint64_t amount, double seconds) {
  return seconds > 0 ? static_cast<double>(amount) / seconds : 0;
}

void emit(const GenerateSinks &sinks, const std::string &text) {
  if (sinks.text && !text.empty())
    sinks.text(text);
}

/// The model's stop tokens beside those of the options. The manifest's are checked when it is read.
SamplingOptions withStopTokens(SamplingOptions sampling, const std::vector<int64_t> &eos) {
  for (int64_t id : eos)
    sampling.stopTokens.push_back(static_cast<int32_t>(id));
  return sampling;
}

} // namespace

std::string_view finishReasonName(FinishReason reason) {
  switch (reason) {
  case FinishReason::Stop:
    return "stop";
  case FinishReason::Length:
    return "length";
  case FinishReason::StopString:
    return "stop_string";
  case FinishReason::Cancelled:
    return "cancelled";
  }
  return "unknown";
}

double GenerateResult::prefillTokensPerSecond() const {
  return perSecond(promptTokens, prefillSeconds);
}
double GenerateResult::decodeTokensPerSecond() const {
  return perSecond(decodeSteps, decodeSeconds);
}
double GenerateResult::decodeBytesPerSecond() const {
  return perSecond(decodeBytes, decodeSeconds);
}

Generator::Generator(Session &usedSession, uint32_t usedSequence,
                     const GenerateOptions &generateOptions)
    : session(usedSession), sequence(usedSequence), options(generateOptions),
      sampler(withStopTokens(options.sampling, session.model().manifest().eosTokens),
              session.model().code().vocabulary) {
  if (session.model().tokenizer() || !options.stopStrings.empty())
    text.emplace(session.model().requireTokenizer(), options.stopStrings, options.specials);
}

bool Generator::isStopToken(int32_t id) const {
  const std::vector<int64_t> &eos = session.model().manifest().eosTokens;
  return std::find(eos.begin(), eos.end(), id) != eos.end();
}

std::span<const float> Generator::prefill(std::span<const int32_t> prompt,
                                          const GenerateSinks &sinks, GenerateResult &result) {
  Clock::time_point start = Clock::now();
  PrefillOptions prefillOptions;
  prefillOptions.cancelled = sinks.cancelled;
  PrefillResult done = session.prefill(sequence, prompt, prefillOptions);
  result.prefillSeconds = secondsSince(start);
  result.promptTokens = done.tokens;
  return done.logits;
}

std::span<const float> Generator::decode(int32_t token, GenerateResult &result) {
  result.decodeBytes += bytesPerGeneratedToken(session.model(), session.position(sequence));
  RowRequest row = {token, sequence, INF_ROW_GENERATED, INF_OUTPUT_LOGITS};
  StepResult done = session.step({&row, 1});
  ++result.decodeSteps;
  return done.logits(0);
}

bool Generator::show(int32_t token, const GenerateSinks &sinks) {
  if (sinks.token)
    sinks.token(token);
  if (!text)
    return true;
  emit(sinks, text->push(token));
  return !text->stopped();
}

GenerateResult Generator::generate(std::span<const int32_t> prompt, const GenerateSinks &sinks) {
  GenerateResult result;
  const Clock::time_point begin = Clock::now();
  std::span<const float> logits = prefill(prompt, sinks, result);
  sampler.acceptPrompt(prompt);
  auto cancelled = [&] { return sinks.cancelled && sinks.cancelled(); };
  bool last = false;
  while (true) {
    if (logits.empty() || cancelled()) {
      result.reason = FinishReason::Cancelled;
      break;
    }
    if (last || result.generatedTokens >= options.maxTokens) {
      result.reason = FinishReason::Length;
      break;
    }
    Clock::time_point start = Clock::now();
    int32_t token = sampler.sample(logits);
    sampler.accept(token);
    // The first token comes with the prefill: no step of its own, so no decode time either.
    if (result.generatedTokens++ > 0)
      result.decodeSeconds += secondsSince(start);
    else
      result.firstTokenSeconds = secondsSince(begin);
    if (isStopToken(token)) {
      result.reason = FinishReason::Stop;
      break;
    }
    if (!show(token, sinks)) {
      result.reason = FinishReason::StopString;
      break;
    }
    // The last token's successor is not wanted or has no place: don't compute it.
    last = result.generatedTokens >= options.maxTokens ||
           session.position(sequence) >= session.context();
    if (last)
      continue;
    start = Clock::now();
    logits = decode(token, result);
    result.decodeSeconds += secondsSince(start);
  }
  if (!logits.empty())
    result.lastLogitsHash = logitsHash(logits);
  if (text)
    emit(sinks, text->finish());
  return result;
}

} // namespace inf
