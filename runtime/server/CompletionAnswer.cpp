#include "runtime/server/CompletionAnswer.h"

namespace inf {
namespace {

using nlohmann::ordered_json;

ordered_json bodyOf(const AnswerHead &head) {
  ordered_json body;
  body["id"] = head.id;
  body["object"] = "text_completion";
  body["created"] = head.created;
  body["model"] = head.model;
  body["system_fingerprint"] = head.fingerprint;
  body["choices"] = ordered_json::array();
  return body;
}

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
    : head(std::move(answerHead)), tokenizer(forTokens), records(choices), exchange(std::move(to)) {
}

void CompletionWhole::piece(uint32_t choice, const AnswerPiece &piece) {
  records[choice].add(piece);
}

void CompletionWhole::choiceEnded(uint32_t choice, const ChoiceEnd &end) {
  records[choice].end = end;
}

void CompletionWhole::ended(const AnswerUsage &usage) {
  ordered_json body = bodyOf(head);
  for (size_t i = 0; i < records.size(); ++i) {
    const ChoiceRecord &record = records[i];
    body["choices"].push_back(choiceOf(head, tokenizer, i, record.content, record.logprobs,
                                       record.ids, finishReason(record.end.reason)));
  }
  if (head.returnTokenIds)
    body["prompt_token_ids"] = head.promptIds;
  body["usage"] = usageJson(usage);
  exchange->respond(jsonResponse(body, head.fields));
}

void CompletionWhole::failed(const ApiError &error) { exchange->respond(errorResponse(error)); }

CompletionStream::CompletionStream(AnswerHead answerHead, const Tokenizer &forTokens,
                                   std::shared_ptr<HttpExchange> to)
    : head(std::move(answerHead)), tokenizer(forTokens), stream(std::move(to), head.fields) {}

void CompletionStream::piece(uint32_t choice, const AnswerPiece &piece) {
  std::string text;
  for (const ChatDelta &delta : piece.deltas)
    text += delta.text;
  if (text.empty() && piece.logprobs.empty() && !head.returnTokenIds)
    return;
  ordered_json body = bodyOf(head);
  if (head.returnTokenIds && !stream.started())
    body["prompt_token_ids"] = head.promptIds;
  body["choices"].push_back(
      choiceOf(head, tokenizer, choice, text, piece.logprobs, piece.ids, nullptr));
  if (head.includeUsage)
    body["usage"] = nullptr;
  stream.data(jsonText(body));
}

void CompletionStream::choiceEnded(uint32_t choice, const ChoiceEnd &end) {
  ordered_json body = bodyOf(head);
  body["choices"].push_back(
      choiceOf(head, tokenizer, choice, "", {}, {}, finishReason(end.reason)));
  if (head.includeUsage)
    body["usage"] = nullptr;
  stream.data(jsonText(body));
}

void CompletionStream::ended(const AnswerUsage &usage) {
  if (head.includeUsage) {
    ordered_json body = bodyOf(head);
    body["usage"] = usageJson(usage);
    stream.data(jsonText(body));
  }
  stream.done();
}

void CompletionStream::failed(const ApiError &error) { stream.fail(error); }

} // namespace inf
