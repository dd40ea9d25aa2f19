// The parts of an answer as they come, and whoever turns them into what an endpoint sends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/chat/Chat.h"
#include "runtime/engine/CompletionService.h"
#include "runtime/server/ApiError.h"

namespace inf {

/// A token of the visible text, with what logprobs asked for.
struct ReportedToken {
  int32_t id = 0;
  bool scored = true; ///< false: the first of a prompt, which nothing comes before
  double logprob = 0;
  std::vector<TokenLogprob> top;
  size_t offset = 0; ///< characters of the choice's text before it
};

struct AnswerPiece {
  /// What can be shown now. `index` of reasoning counts messages of it, as that of calls does
  /// calls.
  std::vector<ChatDelta> deltas;
  std::vector<ReportedToken> logprobs; ///< of the text shown now; empty unless asked for
  std::vector<int32_t> ids;            ///< generated, control tokens included

  bool empty() const { return deltas.empty() && logprobs.empty() && ids.empty(); }
};

struct ChoiceEnd {
  ChatEnd reason = ChatEnd::Stop;
  std::string warning; ///< what the parser repaired
};

/// Tokens of a whole answer: each prompt counts once, however many choices it has.
struct AnswerUsage {
  uint64_t prompt = 0, cached = 0, generated = 0, reasoning = 0;
};

/// Calls come in order and never at the same time: for each choice pieces, then choiceEnded(); when
/// all choices have ended, ended(). failed() may come instead at any time and is the last call.
class AnswerFormat {
public:
  virtual ~AnswerFormat() = default;
  virtual void piece(uint32_t choice, const AnswerPiece &piece) = 0;
  virtual void choiceEnded(uint32_t choice, const ChoiceEnd &end) = 0;
  virtual void ended(const AnswerUsage &usage) = 0;
  virtual void failed(const ApiError &error) = 0;
};

} // namespace inf
