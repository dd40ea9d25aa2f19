// Vocabularies of SentencePiece ("llama"): pieces with scores.
#pragma once

#include <string>

#include "compiler/frontends/gguf/Metadata.h"

namespace inf {

/// The text of a tokenizer.json whose model is a ScoredBPE (runtime/tokenizer/README.md): of two
/// neighbours the pair merges first that makes the token of the best score. Fails with BadInput
/// naming the key.
std::string ggufScoredTokenizerJson(GgufMetadata &metadata);

} // namespace inf
