// What tokenizer.json texts of all kinds of GGUF vocabularies share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "compiler/frontends/gguf/Metadata.h"

namespace inf {

using GgufJson = nlohmann::ordered_json;

inline constexpr char ggufTokensKey[] = "tokenizer.ggml.tokens",
                      ggufTokenTypesKey[] = "tokenizer.ggml.token_type";

/// llama_token_type of llama.cpp.
enum class GgufTokenType : int64_t {
  Normal = 1,
  Unknown = 2,
  Control = 3,
  UserDefined = 4,
  Unused = 5,
  Byte = 6,
};

struct GgufToken {
  std::string_view text; ///< in the mapped file
  GgufTokenType type;
};

/// By id. Fails with BadInput when texts and types are not as many, when there are none, and for a
/// type above Byte or below Normal.
std::vector<GgufToken> ggufTokens(GgufMetadata &metadata);

/// An entry of added_tokens. `takesSpace`: the white space behind it belongs to it.
GgufJson ggufAddedToken(size_t id, const GgufToken &token, bool takesSpace);

/// The post-processor that puts begin- and end-of-text tokens around a text where the file asks for
/// them; `addsBegin` where it doesn't say. Fails with BadInput when the file doesn't name a token
/// that it asks for.
GgufJson ggufEnds(GgufMetadata &metadata, const std::vector<GgufToken> &tokens, bool addsBegin);

struct GgufTokenizerStages {
  GgufJson addedTokens, normalizer, preTokenizer, ends, decoder, model;
};

/// The text of the file. Fails with BadInput for texts that are not UTF-8.
std::string ggufTokenizerText(const GgufMetadata &metadata, GgufTokenizerStages stages);

} // namespace inf
