// A vocabulary of the 256 bytes and some control tokens.
#pragma once

#include <string>
#include <vector>

#include "runtime/tokenizer/Tokenizer.h"

namespace inf::test {

/// Ids 0 … 255 are bytes, then come the control tokens.
Tokenizer byteTokenizer(const std::vector<std::string> &controls);

} // namespace inf::test
