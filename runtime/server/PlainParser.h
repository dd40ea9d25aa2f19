// The parser of an answer without a chat format: all of it is content.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "runtime/chat/Chat.h"
#include "runtime/tokenizer/Detokenizer.h"

namespace inf {

class PlainParser : public ChatParser {
public:
  /// `usedTokenizer` must outlive this object. `place`: what an answer continues is not its start.
  PlainParser(const Tokenizer &usedTokenizer, SpecialOutput specialOutput,
              TextPlace place = TextPlace::Continuation)
      : tokenizer(usedTokenizer), specials(specialOutput),
        detokenizer(std::in_place, usedTokenizer, specialOutput, place) {}
  void push(int32_t id, std::vector<ChatDelta> &deltas) override;
  ChatEnd finish(bool stopped, std::vector<ChatDelta> &deltas) override;
  bool inReasoning() const override { return false; }
  uint32_t reasoningTokens() const override { return 0; }
  std::vector<int32_t> endReasoning() const override { return {}; }
  std::string warning() const override { return {}; }

private:
  const Tokenizer &tokenizer;
  const SpecialOutput specials;
  std::optional<Detokenizer> detokenizer; ///< always there; another one behind an unknown id
};

/// The text of ids from its start, special tokens shown, as well-formed UTF-8.
std::string plainText(const Tokenizer &tokenizer, std::span<const int32_t> ids);

} // namespace inf
