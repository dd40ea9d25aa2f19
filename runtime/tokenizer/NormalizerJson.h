// The "normalizer" of tokenizer.json.
#pragma once

#include "runtime/tokenizer/JsonFields.h"
#include "runtime/tokenizer/Normalizer.h"

namespace inf {

/// NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Prepend, Replace, Strip, or a Sequence of these;
/// fails with BadInput, by name, for any other type or option.
Normalizer readNormalizer(const Json &json);

} // namespace inf
