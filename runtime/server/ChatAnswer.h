// Answers of /v1/chat/completions.
#pragma once

#include <memory>
#include <vector>

#include "runtime/server/AnswerJson.h"
#include "runtime/server/EventStream.h"

namespace inf {

/// One JSON object. `forTokens` must outlive it.
class ChatWhole : public AnswerFormat {
public:
  ChatWhole(AnswerHead answerHead, size_t choices, const Tokenizer &forTokens,
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

/// Server-sent events: the first of a choice has the role, the last its finish_reason.
class ChatStream : public AnswerFormat {
public:
  ChatStream(AnswerHead answerHead, size_t choices, const Tokenizer &forTokens,
             std::shared_ptr<HttpExchange> to);
  void piece(uint32_t choice, const AnswerPiece &piece) override;
  void choiceEnded(uint32_t choice, const ChoiceEnd &end) override;
  void ended(const AnswerUsage &usage) override;
  void failed(const ApiError &error) override;

private:
  nlohmann::ordered_json chunk(uint32_t choice, nlohmann::ordered_json delta) const;
  nlohmann::ordered_json deltaOf(uint32_t choice, ChatDelta delta);
  void begin(uint32_t choice);

  AnswerHead head;
  const Tokenizer &tokenizer;
  EventStream stream;
  std::vector<bool> begun;          ///< [choices]: the role has been said
  std::vector<uint32_t> reasonings; ///< [choices]: the message of reasoning being shown; 0: none
};

} // namespace inf
