// Answers of /v1/completions.
#pragma once

#include <memory>
#include <vector>

#include "runtime/server/AnswerJson.h"
#include "runtime/server/EventStream.h"

namespace inf {

/// One JSON object. `tokenizer` must outlive it.
class CompletionWhole : public AnswerFormat {
public:
  CompletionWhole(AnswerHead answerHead, size_t choices, const Tokenizer &forTokens,
                  std::shared_ptr<HttpExchange> to);
  void piece(uint32_t choice, const AnswerPiece &piece) override;
  void choiceEnded(uint32_t choice, const ChoiceEnd &end) override;
  void ended(const AnswerUsage &usage) override;
  void failed(const ApiError &error) override;

private:
  AnswerHead head;
  const Tokenizer &tokenizer;
  std::vector<ChoiceRecord> records; ///< [choices]
  std::shared_ptr<HttpExchange> exchange;
};

/// Server-sent events, each with the text that is new.
class CompletionStream : public AnswerFormat {
public:
  CompletionStream(AnswerHead answerHead, const Tokenizer &forTokens,
                   std::shared_ptr<HttpExchange> to);
  void piece(uint32_t choice, const AnswerPiece &piece) override;
  void choiceEnded(uint32_t choice, const ChoiceEnd &end) override;
  void ended(const AnswerUsage &usage) override;
  void failed(const ApiError &error) override;

private:
  AnswerHead head;
  const Tokenizer &tokenizer;
  EventStream stream;
};

} // namespace inf
