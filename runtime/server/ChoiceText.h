// One choice of an answer: generated tokens to pieces that can be shown.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/server/AnswerFormat.h"
#include "runtime/session/StopStrings.h"

namespace inf {

struct ChoiceOptions {
  std::vector<std::string> stop;           ///< of the content; reasoning and calls go on
  std::optional<uint32_t> reasoningBudget; ///< tokens
  bool oneToolCall = false;                ///< the answer ends before a second call
  bool logprobs = false, ids = false;
  bool showSpecial = false;        ///< special tokens have text
  bool promptOnly = false;         ///< nothing generated is shown
  std::optional<std::string> echo; ///< comes first, outside of stop strings
  std::vector<int32_t> prompt;     ///< with echo
  size_t echoHidden = 0;           ///< tokens in front of the prompt that `echo` doesn't show
};

class ChoiceText {
public:
  /// `tokenizerToUse` must outlive this object.
  ChoiceText(const Tokenizer &tokenizerToUse, std::unique_ptr<ChatParser> choiceParser,
             ChoiceOptions choiceOptions);

  /// A token of the prompt with its logprob (echo with logprobs).
  void promptToken(const TokenEvent &event);
  AnswerPiece push(const TokenEvent &event, TokenVerdict &verdict);
  AnswerPiece finish(CompletionEnd how, ChoiceEnd &end);
  uint32_t reasoningTokens() const { return parser->reasoningTokens(); }

private:
  void addEcho(AnswerPiece &piece);
  void placeEchoed();
  void countReasoning(bool before);
  void accept(ChatDelta delta, AnswerPiece &piece);
  void acceptContent(const std::string &text, AnswerPiece &piece);
  void show(std::string text, AnswerPiece &piece);
  void remember(const TokenEvent &event);
  bool hidden(int32_t id) const;

  const Tokenizer &tokenizer;
  std::unique_ptr<ChatParser> parser;
  const ChoiceOptions options;
  StopStrings stops;
  std::vector<ChatDelta> deltas; ///< of the current token; kept for its memory
  std::vector<ReportedToken> echoed;
  std::vector<ReportedToken> held; ///< since the last text: which content they make is open
  struct Pending {
    size_t begin; ///< bytes of content before it
    ReportedToken token;
  };
  std::deque<Pending> pending; ///< make content that a stop string may still take back
  size_t contentBytes = 0, contentCharacters = 0, shownBytes = 0;
  uint32_t reasonings = 0; ///< messages of reasoning that have begun
  bool forced = false, started = false, ended = false;
};

} // namespace inf
