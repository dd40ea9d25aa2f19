// What answers made of choices share: those of /v1/chat/completions and /v1/completions.
#pragma once

#include <memory>
#include <vector>

#include "runtime/server/AnswerJson.h"
#include "runtime/server/EventStream.h"

namespace inf {

/// One JSON object, sent when all choices have ended. `forTokens` must outlive it.
class WholeAnswer : public AnswerFormat {
public:
  /// `objectName` is what the JSON calls itself: a literal.
  WholeAnswer(AnswerHead answerHead, const char *objectName, size_t choices,
              const Tokenizer &forTokens, std::shared_ptr<HttpExchange> to);
  void piece(uint32_t choice, const AnswerPiece &piece) override;
  void choiceEnded(uint32_t choice, const ChoiceEnd &end) override;
  void ended(const AnswerUsage &usage) override;
  void failed(const ApiError &error) override;

protected:
  /// The element of "choices".
  virtual nlohmann::ordered_json choiceJson(size_t index, const ChoiceRecord &record) const = 0;

  const AnswerHead head;
  const Tokenizer &tokenizer;

private:
  const char *object;
  std::vector<ChoiceRecord> records; ///< [choices]
  std::shared_ptr<HttpExchange> exchange;
};

/// Server-sent events. `forTokens` must outlive it.
class StreamedAnswer : public AnswerFormat {
public:
  StreamedAnswer(AnswerHead answerHead, const char *objectName, const Tokenizer &forTokens,
                 std::shared_ptr<HttpExchange> to);
  void ended(const AnswerUsage &usage) override;
  void failed(const ApiError &error) override;

protected:
  /// An event with one choice.
  nlohmann::ordered_json eventOf(nlohmann::ordered_json choice) const;

  const AnswerHead head;
  const Tokenizer &tokenizer;
  EventStream stream;

private:
  const char *object;
};

} // namespace inf
