// Answers of /v1/responses: items that are opened, filled and closed, told event by event or whole.
#pragma once

#include <memory>
#include <optional>

#include "runtime/server/AnswerJson.h"
#include "runtime/server/EventStream.h"

namespace inf {

class ResponsesAnswer : public AnswerFormat {
public:
  /// `frame` is the response object without its output; `streaming` sends each event as it comes.
  /// `forTokens` must outlive this object.
  ResponsesAnswer(AnswerHead answerHead, nlohmann::ordered_json frame, bool streaming,
                  const Tokenizer &forTokens, std::shared_ptr<HttpExchange> to);
  void piece(uint32_t choice, const AnswerPiece &piece) override;
  void choiceEnded(uint32_t choice, const ChoiceEnd &end) override;
  void ended(const AnswerUsage &usage) override;
  void failed(const ApiError &error) override;

private:
  /// An item that is being filled.
  struct Open {
    ChatDelta::Kind kind; ///< Reasoning, Content or ToolCallBegin
    std::string id;       ///< "msg_…"
    std::string text;     ///< so far; of a call its arguments
    std::string callId, name;
    uint32_t index = 0;              ///< of messages of reasoning, or of calls
    nlohmann::ordered_json logprobs; ///< so far; an array
  };

  void begin();
  void add(const ChatDelta &delta, nlohmann::ordered_json logprobs);
  void open(const ChatDelta &delta);
  void append(const std::string &text, nlohmann::ordered_json logprobs);
  void close();
  nlohmann::ordered_json item(const Open &of, const char *status) const;
  nlohmann::ordered_json place() const;
  void event(const char *type, nlohmann::ordered_json fields);

  AnswerHead head;
  nlohmann::ordered_json response;
  const bool streams;
  const Tokenizer &tokenizer;
  std::shared_ptr<HttpExchange> exchange;
  EventStream stream;
  std::optional<Open> current;
  uint64_t sequence = 0; ///< of the next event
  bool begun = false, incomplete = false;
};

} // namespace inf
