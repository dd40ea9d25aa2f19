// Token ids and text from the command line, from files and from standard input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/Tokenizer.h"

namespace inf {

/// "1,2,3"; fails with Usage, naming the part that is no number.
std::vector<int32_t> parseIds(std::string_view text);

/// The ids of a prompt to be continued. `raw`: special tokens in it are meant as such, and none is
/// added; else it is ordinary text after what the tokenizer begins a text with.
std::vector<int32_t> promptTokens(const Tokenizer &tokenizer, std::string_view text, bool raw);

/// All of a file; "-" is standard input. Fails with Io, and with TooLong above 1 GiB.
std::string readText(const std::string &path);

/// One sequence of a file of lines {"ids": [1, 2, 3]}; further keys are ignored.
struct IdLine {
  uint64_t line = 0; ///< counted from 0; empty lines count but are left out
  std::vector<int32_t> ids;
};
/// Fails with BadInput, naming the line (counted from 1), for anything else.
std::vector<IdLine> readIdLines(const std::string &path);

} // namespace inf
