// Where the answers of a chat are generated: a session of one sequence, which goes on from the
// longest beginning of the conversation that its cache holds.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/sampler/Sampler.h"
#include "runtime/session/Session.h"

namespace inf {

struct AnswerRequest {
  std::vector<int32_t> prompt;         ///< the whole conversation
  std::span<const int32_t> stopTokens; ///< besides the model's
  uint64_t maxTokens = UINT64_MAX;     ///< cut to what the context holds
};

/// What to do after a token.
struct AnswerStep {
  std::vector<int32_t> force; ///< the tokens that come next, whatever the logits say
};

struct AnswerSinks {
  std::function<AnswerStep(int32_t id)> token; ///< every generated token but the stop token
  std::function<bool()> cancelled;             ///< asked before every step
};

enum class AnswerEnd : uint8_t { Stop, Length, Cancelled };

struct AnswerResult {
  AnswerEnd end = AnswerEnd::Length;
  uint64_t promptTokens = 0;
  uint64_t reusedTokens = 0;    ///< of those, still cached from turns before
  uint64_t generatedTokens = 0; ///< the stop token included
  double promptSeconds = 0, answerSeconds = 0;
};

class SessionAnswers {
public:
  /// `usedSession`, which keeps prefixes, must outlive this object; its sequence 0 belongs to it.
  /// Fails with Usage for bad options.
  SessionAnswers(Session &usedSession, const SamplingOptions &sampling);

  /// Fails with TooLong, before any compute, for a prompt beyond the context.
  AnswerResult answer(const AnswerRequest &request, const AnswerSinks &sinks);

  uint32_t context() const { return session.context(); }

private:
  std::span<const float> prefill(const AnswerRequest &request, const AnswerSinks &sinks,
                                 AnswerResult &result);
  std::span<const float> step(int32_t token);
  bool stops(int32_t id, const AnswerRequest &request) const;
  void generate(std::span<const float> logits, const AnswerRequest &request,
                const AnswerSinks &sinks, AnswerResult &result);

  Session &session;
  Sampler sampler;
};

} // namespace inf
