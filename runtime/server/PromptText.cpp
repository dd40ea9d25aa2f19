#include "runtime/server/PromptText.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "runtime/server/ApiError.h"

namespace inf {
namespace {

/// Ordinary text has three to five bytes a token, so 16 of them are more than two tokens.
constexpr size_t bytesPerToken = 16;
/// A text cut anywhere has nearly the tokens of its beginning, not exactly.
constexpr size_t beyond = 2;

/// The first bytes, cut between characters.
std::string_view beginningOf(std::string_view text, size_t bytes) {
  if (bytes >= text.size())
    return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80)
    --bytes;
  return text.substr(0, bytes);
}

} // namespace

ApiError textError(const Error &error, const char *param) {
  return {400, "invalid_request_error",
          error.code == ErrorCode::TooLong ? "context_length_exceeded" : "invalid_value",
          fmt::format("The text can't be made into tokens: {}", error.what()), param};
}

size_t countTokens(const ServedModel &model, std::span<const std::string_view> texts,
                   size_t enough) {
  size_t tokens = 0, bytes = enough * bytesPerToken;
  for (std::string_view text : texts) {
    const std::string_view part = beginningOf(text, bytes);
    tokens += model.tokenizer.encode(part, SpecialTokens::AsText).size();
    bytes -= part.size();
    if (tokens > enough || bytes == 0)
      break;
  }
  return tokens;
}

void expectTextsInReach(const ServedModel &model, std::span<const std::string_view> texts,
                        const char *param) {
  const size_t most = model.tokens();
  size_t bytes = 0;
  for (std::string_view text : texts)
    bytes += text.size();
  if (bytes <= most * bytesPerToken)
    return;
  size_t tokens = 0;
  try {
    tokens = countTokens(model, texts, most * beyond);
  } catch (const Error &error) {
    throw textError(error, param);
  }
  if (tokens > most * beyond)
    throw ApiError(400, "invalid_request_error", "context_length_exceeded",
                   fmt::format("The prompt has more than {} tokens, but the context holds {} with "
                               "at least one generated. Shorten it.",
                               tokens, most),
                   param);
}

std::vector<int32_t> encodeText(const ServedModel &model, std::string_view text,
                                SpecialTokens specials, TextEnds ends, const char *param) {
  expectTextsInReach(model, {&text, 1}, param);
  try {
    return model.tokenizer.encode(text, specials, ends);
  } catch (const Error &error) {
    if (error.code != ErrorCode::BadInput && error.code != ErrorCode::TooLong)
      throw;
    throw textError(error, param);
  }
}

} // namespace inf
