// Answers of /v1/completions.
#pragma once

#include "runtime/server/ChoiceAnswer.h"

namespace inf {

/// One JSON object. `forTokens` must outlive it.
class CompletionWhole : public WholeAnswer {
public:
  CompletionWhole(AnswerHead answerHead, size_t choices, const Tokenizer &forTokens,
                  std::shared_ptr<HttpExchange> to);

private:
  nlohmann::ordered_json choiceJson(size_t index, const ChoiceRecord &record) const override;
};

/// Server-sent events, each with the text that is new.
class CompletionStream : public StreamedAnswer {
public:
  CompletionStream(AnswerHead answerHead, const Tokenizer &forTokens,
                   std::shared_ptr<HttpExchange> to);
  void piece(uint32_t choice, const AnswerPiece &piece) override;
  void choiceEnded(uint32_t choice, const ChoiceEnd &end) override;
};

} // namespace inf
