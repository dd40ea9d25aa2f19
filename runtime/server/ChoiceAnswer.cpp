#include "runtime/server/ChoiceAnswer.h"

namespace inf {
namespace {

using nlohmann::ordered_json;

ordered_json bodyOf(const AnswerHead &head, const char *object) {
  ordered_json body;
  body["id"] = head.id;
  body["object"] = object;
  body["created"] = head.created;
  body["model"] = head.model;
  body["system_fingerprint"] = head.fingerprint;
  body["choices"] = ordered_json::array();
  return body;
}

} // namespace

WholeAnswer::WholeAnswer(AnswerHead answerHead, const char *objectName, size_t choices,
                         const Tokenizer &forTokens, std::shared_ptr<HttpExchange> to)
    : head(std::move(answerHead)), tokenizer(forTokens), object(objectName), records(choices),
      exchange(std::move(to)) {}

void WholeAnswer::piece(uint32_t choice, const AnswerPiece &piece) { records[choice].add(piece); }

void WholeAnswer::choiceEnded(uint32_t choice, const ChoiceEnd &end) { records[choice].end = end; }

void WholeAnswer::ended(const AnswerUsage &usage) {
  ordered_json body = bodyOf(head, object);
  for (size_t i = 0; i < records.size(); ++i)
    body["choices"].push_back(choiceJson(i, records[i]));
  if (head.returnTokenIds)
    body["prompt_token_ids"] = head.promptIds;
  body["usage"] = usageJson(usage);
  exchange->respond(jsonResponse(body, head.fields));
}

void WholeAnswer::failed(const ApiError &error) { exchange->respond(errorResponse(error)); }

StreamedAnswer::StreamedAnswer(AnswerHead answerHead, const char *objectName,
                               const Tokenizer &forTokens, std::shared_ptr<HttpExchange> to)
    : head(std::move(answerHead)), tokenizer(forTokens), stream(std::move(to), head.fields),
      object(objectName) {}

ordered_json StreamedAnswer::eventOf(ordered_json choice) const {
  ordered_json body = bodyOf(head, object);
  body["choices"].push_back(std::move(choice));
  if (head.includeUsage)
    body["usage"] = nullptr;
  return body;
}

void StreamedAnswer::ended(const AnswerUsage &usage) {
  if (head.includeUsage) {
    ordered_json body = bodyOf(head, object);
    body["usage"] = usageJson(usage);
    stream.data(jsonText(body));
  }
  stream.done();
}

void StreamedAnswer::failed(const ApiError &error) { stream.fail(error); }

} // namespace inf
