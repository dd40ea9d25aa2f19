// JSON that the answers of several endpoints share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/server/AnswerFormat.h"

namespace inf {

/// What every answer starts with.
struct AnswerHead {
  std::string id;          ///< "chatcmpl-…"
  std::string model;       ///< as served
  int64_t created = 0;     ///< Unix time
  std::string fingerprint; ///< build of the model, and the seed
  bool includeUsage = false, returnTokenIds = false, logprobs = false;
  std::vector<int32_t> promptIds; ///< with returnTokenIds
  std::vector<HttpField> fields;  ///< of the response
};

/// Between two messages of reasoning of one answer.
inline constexpr std::string_view reasoningBreak = "\n\n";

/// A choice collected to its end.
struct ChoiceRecord {
  std::string content, reasoning;
  std::vector<ChatToolCall> calls;
  std::vector<ReportedToken> logprobs;
  std::vector<int32_t> ids;
  ChoiceEnd end;
  uint32_t reasonings = 0; ///< the number of the message that `reasoning` ends with

  void add(const AnswerPiece &piece);
};

/// Never throws: what is not UTF-8 becomes U+FFFD.
std::string jsonText(const nlohmann::ordered_json &json);

/// "stop", "length", "tool_calls"
std::string_view finishReason(ChatEnd end);

/// {"prompt_tokens", "completion_tokens", "total_tokens", details of both}
nlohmann::ordered_json usageJson(const AnswerUsage &usage);

/// The text of one token inside of a text; bytes that are not UTF-8 alone become U+FFFD.
std::string tokenText(const Tokenizer &tokenizer, int32_t id);

/// [{"token", "logprob", "bytes", "top_logprobs"}]
nlohmann::ordered_json tokenLogprobs(const Tokenizer &tokenizer,
                                     const std::vector<ReportedToken> &tokens);
/// {"tokens", "token_logprobs", "top_logprobs", "text_offset"}
nlohmann::ordered_json completionLogprobs(const Tokenizer &tokenizer,
                                          const std::vector<ReportedToken> &tokens);

HttpResponse jsonResponse(const nlohmann::ordered_json &json, std::vector<HttpField> fields = {});
HttpResponse streamHead(std::vector<HttpField> fields);

} // namespace inf
