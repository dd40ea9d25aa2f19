#include "runtime/server/ResponsesAnswer.h"

#include <utility>

#include <fmt/format.h>

namespace inf {
namespace {

using nlohmann::ordered_json;

ordered_json partOf(ChatDelta::Kind kind, const std::string &text, ordered_json logprobs) {
  ordered_json part;
  if (kind == ChatDelta::Kind::Reasoning) {
    part["type"] = "reasoning_text";
    part["text"] = text;
    return part;
  }
  part["type"] = "output_text";
  part["text"] = text;
  part["annotations"] = ordered_json::array();
  part["logprobs"] = std::move(logprobs);
  return part;
}

const char *prefixOf(ChatDelta::Kind kind) {
  return kind == ChatDelta::Kind::Reasoning ? "rs_"
         : kind == ChatDelta::Kind::Content ? "msg_"
                                            : "fc_";
}

ordered_json responsesUsage(const AnswerUsage &usage) {
  ordered_json json;
  json["input_tokens"] = usage.prompt;
  json["input_tokens_details"]["cached_tokens"] = usage.cached;
  json["output_tokens"] = usage.generated;
  json["output_tokens_details"]["reasoning_tokens"] = usage.reasoning;
  json["total_tokens"] = usage.prompt + usage.generated;
  return json;
}

} // namespace

ResponsesAnswer::ResponsesAnswer(AnswerHead answerHead, ordered_json frame, bool streaming,
                                 const Tokenizer &forTokens, std::shared_ptr<HttpExchange> to)
    : head(std::move(answerHead)), response(std::move(frame)), streams(streaming),
      tokenizer(forTokens), exchange(to), stream(std::move(to), head.fields) {
  response["output"] = ordered_json::array();
}

void ResponsesAnswer::event(const char *type, ordered_json fields) {
  if (!streams)
    return;
  ordered_json json;
  json["type"] = type;
  json["sequence_number"] = sequence++;
  json.update(fields);
  stream.event(type, jsonText(json));
}

void ResponsesAnswer::begin() {
  if (std::exchange(begun, true))
    return;
  event("response.created", {{"response", response}});
  event("response.in_progress", {{"response", response}});
}

ordered_json ResponsesAnswer::item(const Open &of, const char *status) const {
  ordered_json json;
  json["id"] = of.id;
  const bool done = std::string_view(status) != "in_progress";
  if (of.kind == ChatDelta::Kind::ToolCallBegin) {
    json["type"] = "function_call";
    json["status"] = status;
    json["call_id"] = of.callId;
    json["name"] = of.name;
    json["arguments"] = of.text;
    return json;
  }
  const bool reasoning = of.kind == ChatDelta::Kind::Reasoning;
  json["type"] = reasoning ? "reasoning" : "message";
  json["status"] = status;
  if (reasoning)
    json["summary"] = ordered_json::array();
  else
    json["role"] = "assistant";
  json["content"] = ordered_json::array();
  if (done)
    json["content"].push_back(partOf(of.kind, of.text, of.logprobs));
  return json;
}

/// Where the current item is, as most events say it.
ordered_json ResponsesAnswer::place() const {
  ordered_json json;
  json["item_id"] = current->id;
  json["output_index"] = response["output"].size();
  if (current->kind != ChatDelta::Kind::ToolCallBegin)
    json["content_index"] = 0;
  return json;
}

void ResponsesAnswer::open(const ChatDelta &delta) {
  close();
  const size_t index = response["output"].size();
  current = Open{delta.kind,
                 fmt::format("{}{}_{}", prefixOf(delta.kind), head.id, index),
                 "",
                 delta.id,
                 delta.name,
                 delta.index,
                 ordered_json::array()};
  event("response.output_item.added",
        {{"output_index", index}, {"item", item(*current, "in_progress")}});
  if (delta.kind == ChatDelta::Kind::ToolCallBegin)
    return;
  ordered_json fields = place();
  fields["part"] = partOf(delta.kind, "", ordered_json::array());
  event("response.content_part.added", std::move(fields));
}

void ResponsesAnswer::append(const std::string &text, ordered_json logprobs) {
  current->text += text;
  current->logprobs.insert(current->logprobs.end(), logprobs.begin(), logprobs.end());
  ordered_json fields = place();
  fields["delta"] = text;
  if (current->kind == ChatDelta::Kind::Content)
    fields["logprobs"] = std::move(logprobs);
  event(current->kind == ChatDelta::Kind::Reasoning ? "response.reasoning_text.delta"
        : current->kind == ChatDelta::Kind::Content ? "response.output_text.delta"
                                                    : "response.function_call_arguments.delta",
        std::move(fields));
}

void ResponsesAnswer::close() {
  if (!current)
    return;
  ordered_json done = place();
  if (current->kind == ChatDelta::Kind::ToolCallBegin) {
    done["name"] = current->name;
    done["arguments"] = current->text;
    event("response.function_call_arguments.done", std::move(done));
  } else {
    ordered_json part = done;
    done["text"] = current->text;
    const bool reasoning = current->kind == ChatDelta::Kind::Reasoning;
    if (!reasoning)
      done["logprobs"] = current->logprobs;
    event(reasoning ? "response.reasoning_text.done" : "response.output_text.done",
          std::move(done));
    part["part"] = partOf(current->kind, current->text, current->logprobs);
    event("response.content_part.done", std::move(part));
  }
  ordered_json finished = item(*current, incomplete ? "incomplete" : "completed");
  event("response.output_item.done",
        {{"output_index", response["output"].size()}, {"item", finished}});
  response["output"].push_back(std::move(finished));
  current.reset();
}

void ResponsesAnswer::add(const ChatDelta &delta, ordered_json logprobs) {
  if (delta.kind == ChatDelta::Kind::ToolCallBegin)
    return open(delta);
  const ChatDelta::Kind kind = delta.kind == ChatDelta::Kind::ToolCallArguments
                                   ? ChatDelta::Kind::ToolCallBegin
                                   : delta.kind;
  const bool another =
      kind == ChatDelta::Kind::Reasoning && current && current->index != delta.index;
  if (!current || current->kind != kind || another)
    open(delta);
  append(delta.text, std::move(logprobs));
}

void ResponsesAnswer::piece(uint32_t, const AnswerPiece &piece) {
  begin();
  // They are of the text of this piece, whose content is one delta nearly always.
  ordered_json logprobs = tokenLogprobs(tokenizer, piece.logprobs);
  for (const ChatDelta &delta : piece.deltas)
    if (delta.kind == ChatDelta::Kind::Content)
      add(delta, std::exchange(logprobs, ordered_json::array()));
    else
      add(delta, ordered_json::array());
}

void ResponsesAnswer::choiceEnded(uint32_t, const ChoiceEnd &end) {
  begin();
  incomplete = end.reason == ChatEnd::Length;
  close();
  response["status"] = incomplete ? "incomplete" : "completed";
  if (incomplete)
    response["incomplete_details"] = {{"reason", "max_output_tokens"}};
}

void ResponsesAnswer::ended(const AnswerUsage &usage) {
  response["usage"] = responsesUsage(usage);
  if (!streams)
    return exchange->respond(jsonResponse(response, head.fields));
  event(incomplete ? "response.incomplete" : "response.completed", {{"response", response}});
  stream.end();
}

void ResponsesAnswer::failed(const ApiError &error) {
  if (!stream.started())
    return exchange->respond(errorResponse(error));
  ordered_json fields;
  fields["code"] = error.code;
  fields["message"] = error.what();
  fields["param"] = nullptr;
  event("error", std::move(fields));
  stream.end();
}

} // namespace inf
