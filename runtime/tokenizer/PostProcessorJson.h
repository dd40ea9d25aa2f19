// The "post_processor" of tokenizer.json: the tokens a model wants around a text.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/tokenizer/JsonFields.h"
#include "runtime/tokenizer/TokenTable.h"

namespace inf {

struct TokensAround {
  std::vector<int32_t> before, after;
};

/// ByteLevel (which adds nothing), TemplateProcessing (its template for one text), or a Sequence of
/// these; fails with BadInput, by name, for any other type, and for ids that `tokens` don't have.
TokensAround readPostProcessor(const Json &json, const TokenTable &tokens);

} // namespace inf
