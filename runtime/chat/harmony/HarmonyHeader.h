// The header of a generated Harmony message: <|start|>assistant to=functions.f<|channel|>commentary
// <|constrain|>json<|message|>. Models put the recipient before or after the channel, leave the
// space in front of <|constrain|> out, or write words that belong to nothing.
#pragma once

#include <string>
#include <vector>

namespace inf {

/// The texts between the control tokens of a header, in order.
struct HeaderPart {
  enum class Kind { Role, Channel, Constrain } kind;
  std::string text;
};

struct HarmonyHeader {
  std::string author;    ///< "assistant" when the prompt opened the message
  std::string channel;   ///< "" when there is none
  std::string recipient; ///< "functions.get_weather"; "" when there is none
  std::string type;      ///< "json", "code"
  std::string rest;      ///< text that is none of these, as it stood; "" in a sound header
};

/// Never fails. `opened`: the prompt has written the role, so the first part may go without.
/// A recipient ends at a blank or at '<': markers written out in characters never get into a name.
HarmonyHeader parseHeader(const std::vector<HeaderPart> &parts, bool opened);

} // namespace inf
