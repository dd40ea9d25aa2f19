// The tokenizer that a GGUF file's metadata describe, as the text of a tokenizer.json.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/frontends/gguf/Metadata.h"

namespace inf {

/// tokenizer.ggml.*: byte-level BPE ("gpt2") with one of the pre-tokenizers of PreTokenizers.h, or
/// SentencePiece's pieces with scores ("llama"). Fails with BadInput naming the key for other
/// kinds, token types that a kind does not have, lists that don't belong together, and texts that
/// are not UTF-8. "" when the file has no tokenizer. `notes`: what is left out.
std::string ggufTokenizerJson(GgufMetadata &metadata, std::vector<std::string> &notes);

/// Ids of control tokens with one of these texts, ascending; none without a list of tokens.
std::vector<int64_t> controlTokens(GgufMetadata &metadata, std::span<const std::string_view> texts);

} // namespace inf
