// The "added_tokens" of tokenizer.json.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "runtime/tokenizer/JsonFields.h"
#include "runtime/tokenizer/TokenizerParts.h"

namespace inf {

struct AddedToken {
  int64_t id;
  bool special;
};

/// By content: the vocabulary may repeat them.
using AddedByContent = std::unordered_map<std::string, AddedToken>;

/// Enters the tokens in `parts`, whose normalizer must be there: it decides what those are that are
/// found in normalized text. Fails with BadInput for broken or repeated ones.
AddedByContent readAddedTokens(const FieldReader &root, TokenizerParts &parts);

} // namespace inf
