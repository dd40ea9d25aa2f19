// The "model" of tokenizer.json: vocabulary and merges.
#pragma once

#include "runtime/tokenizer/AddedTokensJson.h"
#include "runtime/tokenizer/JsonFields.h"
#include "runtime/tokenizer/TokenizerParts.h"

namespace inf {

/// Type BPE, or ScoredBPE (README.md); `parts.byteLevel` says how the vocabulary is written. Fails
/// with BadInput for broken ones and, by name, for other types and options that are not
/// implemented.
void readModel(const FieldReader &root, const AddedByContent &added, TokenizerParts &parts);

} // namespace inf
