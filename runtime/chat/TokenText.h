// What parsers share: the text of any id, and ids of tool calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/tokenizer/Tokenizer.h"

namespace inf {

/// The bytes of a generated token. An id without a token (a padding row of the embedding, which
/// untrained models do choose) is U+FFFD. Never fails.
std::string_view tokenText(const Tokenizer &tokenizer, int32_t id);

/// Whether the id is a special token of the vocabulary; false for an id without a token.
bool isControl(const Tokenizer &tokenizer, int32_t id);

/// "call_" and 16 hexadecimal digits from the system's random numbers: calls of different answers
/// in one conversation must not share an id.
std::string randomCallPrefix();

} // namespace inf
