// Answers of /v1/chat/completions.
#pragma once

#include "runtime/server/ChoiceAnswer.h"

namespace inf {

/// One JSON object. `forTokens` must outlive it.
class ChatWhole : public WholeAnswer {
public:
  ChatWhole(AnswerHead answerHead, size_t choices, const Tokenizer &forTokens,
            std::shared_ptr<HttpExchange> to);

private:
  nlohmann::ordered_json choiceJson(size_t index, const ChoiceRecord &record) const override;
};

/// Server-sent events: the first of a choice has the role, the last its finish_reason.
class ChatStream : public StreamedAnswer {
public:
  ChatStream(AnswerHead answerHead, size_t choices, const Tokenizer &forTokens,
             std::shared_ptr<HttpExchange> to);
  void piece(uint32_t choice, const AnswerPiece &piece) override;
  void choiceEnded(uint32_t choice, const ChoiceEnd &end) override;

private:
  nlohmann::ordered_json chunk(uint32_t choice, nlohmann::ordered_json delta) const;
  nlohmann::ordered_json deltaOf(uint32_t choice, ChatDelta delta);
  void begin(uint32_t choice);

  std::vector<bool> begun;          ///< [choices]: the role has been said
  std::vector<uint32_t> reasonings; ///< [choices]: the message of reasoning being shown; 0: none
};

} // namespace inf
