#include "runtime/server/CompletionAnswer.h"

namespace inf {
namespace {

using nlohmann::ordered_json;

constexpr const char *objectName = "text_completion";

ordered_json choiceOf(const AnswerHead &head, const Tokenizer &tokenizer, size_t index,
                      const std::string &text, const std::vector<ReportedToken> &logprobs,
                      const std::vector<int32_t> &ids, ordered_json finish) {
  ordered_json choice;
  choice["index"] = index;
  choice["text"] = text;
  choice["logprobs"] =
      head.logprobs ? completionLogprobs(tokenizer, logprobs) : ordered_json(nullptr);
  choice["finish_reason"] = std::move(finish);
  if (head.returnTokenIds)
    choice["token_ids"] = ids;
  return choice;
}

} // namespace

CompletionWhole::CompletionWhole(AnswerHead answerHead, size_t choices, const Tokenizer &forTokens,
                                 std::shared_ptr<HttpExchange> to)
    : WholeAnswer(std::move(answerHead), objectName, choices, forTokens, std::move(to)) {}

ordered_json CompletionWhole::choiceJson(size_t index, const ChoiceRecord &record) const {
  return choiceOf(head, tokenizer, index, record.content, record.logprobs, record.ids,
                  finishReason(record.end.reason));
}

CompletionStream::CompletionStream(AnswerHead answerHead, const Tokenizer &forTokens,
                                   std::shared_ptr<HttpExchange> to)
    : StreamedAnswer(std::move(answerHead), objectName, forTokens, std::move(to)) {}

void CompletionStream::piece(uint32_t choice, const AnswerPiece &piece) {
  std::string text;
  for (const ChatDelta &delta : piece.deltas)
    text += delta.text;
  if (text.empty() && piece.logprobs.empty() && !head.returnTokenIds)
    return;
  ordered_json body =
      eventOf(choiceOf(head, tokenizer, choice, text, piece.logprobs, piece.ids, nullptr));
  if (head.returnTokenIds && !stream.started())
    body["prompt_token_ids"] = head.promptIds;
  stream.data(jsonText(body));
}

void CompletionStream::choiceEnded(uint32_t choice, const ChoiceEnd &end) {
  stream.data(
      jsonText(eventOf(choiceOf(head, tokenizer, choice, "", {}, {}, finishReason(end.reason)))));
}

} // namespace inf
