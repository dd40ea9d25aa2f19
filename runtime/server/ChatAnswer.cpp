#include "runtime/server/ChatAnswer.h"

namespace inf {
namespace {

using nlohmann::ordered_json;

ordered_json callJson(const ChatToolCall &call) {
  ordered_json json;
  json["id"] = call.id;
  json["type"] = "function";
  json["function"]["name"] = call.name;
  json["function"]["arguments"] = call.arguments;
  return json;
}

ordered_json messageJson(const ChoiceRecord &record) {
  ordered_json message;
  message["role"] = "assistant";
  const bool callsOnly = record.content.empty() && !record.calls.empty();
  message["content"] = callsOnly ? ordered_json(nullptr) : ordered_json(record.content);
  message["refusal"] = nullptr;
  if (!record.reasoning.empty())
    message["reasoning_content"] = record.reasoning;
  if (record.calls.empty())
    return message;
  for (const ChatToolCall &call : record.calls)
    message["tool_calls"].push_back(callJson(call));
  return message;
}

ordered_json deltaJson(const ChatDelta &delta) {
  ordered_json json, call;
  switch (delta.kind) {
  case ChatDelta::Kind::Reasoning:
    json["reasoning_content"] = delta.text;
    return json;
  case ChatDelta::Kind::Content:
    json["content"] = delta.text;
    return json;
  case ChatDelta::Kind::ToolCallBegin:
    call = callJson({delta.id, delta.name, ""});
    break;
  case ChatDelta::Kind::ToolCallArguments:
    call["function"]["arguments"] = delta.text;
    break;
  }
  call["index"] = delta.index;
  json["tool_calls"] = ordered_json::array({std::move(call)});
  return json;
}

ordered_json logprobsJson(const Tokenizer &tokenizer, const std::vector<ReportedToken> &tokens) {
  return {{"content", tokenLogprobs(tokenizer, tokens)}};
}

} // namespace

ChatWhole::ChatWhole(AnswerHead answerHead, size_t choices, const Tokenizer &forTokens,
                     std::shared_ptr<HttpExchange> to)
    : WholeAnswer(std::move(answerHead), "chat.completion", choices, forTokens, std::move(to)) {}

ordered_json ChatWhole::choiceJson(size_t index, const ChoiceRecord &record) const {
  ordered_json choice;
  choice["index"] = index;
  choice["message"] = messageJson(record);
  choice["logprobs"] =
      head.logprobs ? logprobsJson(tokenizer, record.logprobs) : ordered_json(nullptr);
  choice["finish_reason"] = finishReason(record.end.reason);
  if (!record.end.warning.empty())
    choice["warning"] = record.end.warning;
  if (head.returnTokenIds)
    choice["token_ids"] = record.ids;
  return choice;
}

ChatStream::ChatStream(AnswerHead answerHead, size_t choices, const Tokenizer &forTokens,
                       std::shared_ptr<HttpExchange> to)
    : StreamedAnswer(std::move(answerHead), "chat.completion.chunk", forTokens, std::move(to)),
      begun(choices), reasonings(choices) {}

ordered_json ChatStream::chunk(uint32_t choice, ordered_json delta) const {
  ordered_json one;
  one["index"] = choice;
  one["delta"] = std::move(delta);
  one["logprobs"] = nullptr;
  one["finish_reason"] = nullptr;
  return eventOf(std::move(one));
}

ordered_json ChatStream::deltaOf(uint32_t choice, ChatDelta delta) {
  if (delta.kind == ChatDelta::Kind::Reasoning) {
    uint32_t &last = reasonings[choice];
    if (last != 0 && last != delta.index)
      delta.text.insert(0, reasoningBreak);
    last = delta.index;
  }
  return deltaJson(delta);
}

void ChatStream::begin(uint32_t choice) {
  if (begun[choice])
    return;
  begun[choice] = true;
  ordered_json body = chunk(choice, {{"role", "assistant"}, {"content", ""}});
  if (head.returnTokenIds)
    body["prompt_token_ids"] = head.promptIds;
  stream.data(jsonText(body));
}

void ChatStream::piece(uint32_t choice, const AnswerPiece &piece) {
  begin(choice);
  std::vector<ordered_json> chunks;
  for (const ChatDelta &delta : piece.deltas)
    chunks.push_back(chunk(choice, deltaOf(choice, delta)));
  if (chunks.empty() && (head.returnTokenIds || !piece.logprobs.empty()))
    chunks.push_back(chunk(choice, ordered_json::object()));
  if (chunks.empty())
    return;
  ordered_json &last = chunks.back()["choices"][0];
  if (!piece.logprobs.empty())
    last["logprobs"] = logprobsJson(tokenizer, piece.logprobs);
  if (head.returnTokenIds)
    last["token_ids"] = piece.ids;
  for (const ordered_json &one : chunks)
    stream.data(jsonText(one));
}

void ChatStream::choiceEnded(uint32_t choice, const ChoiceEnd &end) {
  begin(choice);
  ordered_json body = chunk(choice, ordered_json::object());
  body["choices"][0]["finish_reason"] = finishReason(end.reason);
  if (!end.warning.empty())
    body["choices"][0]["warning"] = end.warning;
  stream.data(jsonText(body));
}

} // namespace inf
