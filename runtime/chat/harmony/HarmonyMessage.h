// A conversation as the Harmony format sees it: messages with a header of author, recipient,
// channel and content type. The format is described in openai/harmony, docs/format.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tokenizer/Tokenizer.h"

namespace inf {

struct HarmonyMessage {
  std::string author;    ///< a role, or a tool's full name ("functions.get_weather")
  std::string recipient; ///< "" = everybody
  std::string channel;   ///< "analysis", "commentary", "final"; "" = none
  std::string constrain; ///< "json": the type named after <|constrain|>; "" = none
  std::string text;

  bool operator==(const HarmonyMessage &) const = default;
};

/// The control tokens of a vocabulary.
struct HarmonyTokens {
  /// Fails with BadInput, naming the first one that the vocabulary lacks.
  explicit HarmonyTokens(const Tokenizer &tokenizer);

  int32_t start, end, message, channel, constrain, call, finalReturn;
};

/// Chain of thought that the next answer must not see again: the analysis in front of a final
/// answer that something follows. What came after the last final answer (calls of tools in flight)
/// stays. `continues`: the assistant's next answer follows the messages.
std::vector<HarmonyMessage> dropOldAnalysis(std::vector<HarmonyMessage> messages, bool continues);

/// The messages as ids; all texts and names as ordinary text. `continues` opens the assistant's
/// next message: <|start|>assistant.
std::vector<int32_t> renderHarmony(const Tokenizer &tokenizer, const HarmonyTokens &tokens,
                                   const std::vector<HarmonyMessage> &messages, bool continues);

} // namespace inf
