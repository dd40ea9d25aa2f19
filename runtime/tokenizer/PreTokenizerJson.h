// The "pre_tokenizer" of tokenizer.json: how text is cut before merging.
#pragma once

#include "runtime/tokenizer/JsonFields.h"
#include "runtime/tokenizer/PreTokenizer.h"

namespace inf {

struct PreTokenizerStages {
  PreTokenizer stages;
  bool byteLevel = false; ///< the last stage is ByteLevel: the vocabulary writes bytes
};

/// ByteLevel (as the last stage), Split, Metaspace, Digits, Punctuation, Whitespace,
/// WhitespaceSplit, CharDelimiterSplit, or a Sequence of these; fails with BadInput, by name, for
/// any other type, option or order.
PreTokenizerStages readPreTokenizer(const Json &json);

} // namespace inf
