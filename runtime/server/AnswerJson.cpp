#include "runtime/server/AnswerJson.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/Error.h"
#include "runtime/tokenizer/Detokenizer.h"

namespace inf {
namespace {

using nlohmann::ordered_json;

/// JSON has no infinity; OpenAI's value for "not among the likely ones".
constexpr double leastLogprob = -9999;

double finite(double logprob) {
  return std::isfinite(logprob) ? std::max(logprob, leastLogprob) : leastLogprob;
}

std::string_view bytesOf(const Tokenizer &tokenizer, int32_t id) {
  try {
    return tokenizer.tokenBytes(id);
  } catch (const Error &) {
    return "\uFFFD"; // a padding row of the embedding
  }
}

ordered_json scored(const Tokenizer &tokenizer, int32_t id, double logprob) {
  ordered_json entry;
  entry["token"] = tokenText(tokenizer, id);
  entry["logprob"] = finite(logprob);
  ordered_json &bytes = entry["bytes"] = ordered_json::array();
  for (char c : bytesOf(tokenizer, id))
    bytes.push_back(static_cast<unsigned char>(c));
  return entry;
}

} // namespace

void ChoiceRecord::add(const AnswerPiece &piece) {
  for (const ChatDelta &delta : piece.deltas)
    switch (delta.kind) {
    case ChatDelta::Kind::Reasoning:
      if (!reasoning.empty() && delta.index != reasonings)
        reasoning += reasoningBreak;
      reasonings = delta.index;
      reasoning += delta.text;
      break;
    case ChatDelta::Kind::Content:
      content += delta.text;
      break;
    case ChatDelta::Kind::ToolCallBegin:
      calls.push_back({delta.id, delta.name, ""});
      break;
    case ChatDelta::Kind::ToolCallArguments:
      if (!calls.empty())
        calls.back().arguments += delta.text;
      break;
    }
  logprobs.insert(logprobs.end(), piece.logprobs.begin(), piece.logprobs.end());
  ids.insert(ids.end(), piece.ids.begin(), piece.ids.end());
}

std::string jsonText(const ordered_json &json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string_view finishReason(ChatEnd end) {
  switch (end) {
  case ChatEnd::Length:
    return "length";
  case ChatEnd::ToolCalls:
    return "tool_calls";
  case ChatEnd::Stop:
    break;
  }
  return "stop";
}

ordered_json usageJson(const AnswerUsage &usage) {
  ordered_json json;
  json["prompt_tokens"] = usage.prompt;
  json["completion_tokens"] = usage.generated;
  json["total_tokens"] = usage.prompt + usage.generated;
  json["prompt_tokens_details"]["cached_tokens"] = usage.cached;
  json["completion_tokens_details"]["reasoning_tokens"] = usage.reasoning;
  return json;
}

std::string tokenText(const Tokenizer &tokenizer, int32_t id) {
  try {
    Detokenizer detokenizer(tokenizer, SpecialOutput::Show, TextPlace::Continuation);
    std::string text = detokenizer.push(id);
    return text + detokenizer.finish();
  } catch (const Error &) {
    return "\uFFFD";
  }
}

ordered_json tokenLogprobs(const Tokenizer &tokenizer, const std::vector<ReportedToken> &tokens) {
  ordered_json content = ordered_json::array();
  for (const ReportedToken &token : tokens) {
    ordered_json entry = scored(tokenizer, token.id, token.logprob);
    ordered_json &top = entry["top_logprobs"] = ordered_json::array();
    for (const TokenLogprob &other : token.top)
      top.push_back(scored(tokenizer, other.id, other.logprob));
    content.push_back(std::move(entry));
  }
  return content;
}

ordered_json completionLogprobs(const Tokenizer &tokenizer,
                                const std::vector<ReportedToken> &tokens) {
  ordered_json texts = ordered_json::array(), logprobs = texts, tops = texts, offsets = texts;
  for (const ReportedToken &token : tokens) {
    texts.push_back(tokenText(tokenizer, token.id));
    offsets.push_back(token.offset);
    logprobs.push_back(token.scored ? ordered_json(finite(token.logprob)) : ordered_json());
    ordered_json top = ordered_json::object();
    for (const TokenLogprob &other : token.top)
      top.emplace(tokenText(tokenizer, other.id), finite(other.logprob));
    tops.push_back(token.scored ? std::move(top) : ordered_json());
  }
  return {{"tokens", texts},
          {"token_logprobs", logprobs},
          {"top_logprobs", tops},
          {"text_offset", offsets}};
}

HttpResponse jsonResponse(const ordered_json &json, std::vector<HttpField> fields) {
  HttpResponse response;
  response.fields = std::move(fields);
  response.body = jsonText(json);
  return response;
}

HttpResponse streamHead(std::vector<HttpField> fields) {
  HttpResponse response;
  response.contentType = "text/event-stream; charset=utf-8";
  response.fields = std::move(fields);
  response.fields.push_back({"Cache-Control", "no-cache"});
  return response;
}

} // namespace inf
