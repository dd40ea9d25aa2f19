// Texts of requests to ids, with what they cost bounded before they are read to the end.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/base/Error.h"
#include "runtime/server/ApiError.h"
#include "runtime/server/ServedModel.h"

namespace inf {

/// Fails with ApiError 400 context_length_exceeded, naming `param`, for texts that are far beyond
/// the context: their first 16 bytes per token of it make twice the tokens that it holds. What is
/// less far beyond is for the caller to find when all is encoded.
void expectTextsInReach(const ServedModel &model, std::span<const std::string_view> texts,
                        const char *param);

/// At least how many tokens the texts have, counted no further than beyond `enough`.
size_t countTokens(const ServedModel &model, std::span<const std::string_view> texts,
                   size_t enough);

/// Tokenizer::encode() of a text within reach. Fails with ApiError 400, naming `param`, also for a
/// text that the vocabulary can't write.
std::vector<int32_t> encodeText(const ServedModel &model, std::string_view text,
                                SpecialTokens specials, TextEnds ends, const char *param);

/// The 400 for what the tokenizer said of a request's text.
ApiError textError(const Error &error, const char *param);

} // namespace inf
