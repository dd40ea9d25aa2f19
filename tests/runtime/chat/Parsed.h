// An answer run through a parser.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/chat/Chat.h"

namespace inf::test {

struct ParsedCall {
  std::string id, name, arguments;
};

struct Parsed {
  std::string reasoning, content;
  std::vector<ParsedCall> calls;
  std::string joined; ///< the texts of all deltas in order
  ChatEnd end = ChatEnd::Stop;
  uint32_t reasoningTokens = 0;
  std::string warning;
};

/// Pushes `ids` one by one. Every delta is checked: well-formed UTF-8, not empty, a call's text
/// after its beginning.
Parsed parseAnswer(ChatParser &parser, std::span<const int32_t> ids, bool stopped);

} // namespace inf::test
