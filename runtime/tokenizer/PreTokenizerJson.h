// The "pre_tokenizer" of tokenizer.json: how text is cut before merging.
#pragma once

#include <vector>

#include "runtime/tokenizer/JsonFields.h"
#include "runtime/tokenizer/SplitPattern.h"

namespace inf {

/// The patterns to apply one after the other. Fails with BadInput, by name, for any type or option
/// other than Split (Regex, Isolated), ByteLevel (without prefix space) and Sequence of these that
/// ends with ByteLevel.
std::vector<SplitPattern> readPreTokenizer(const Json &json);

} // namespace inf
