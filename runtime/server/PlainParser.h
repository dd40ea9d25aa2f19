// The parser of an answer without a chat format: all of it is content.
#pragma once

#include <span>
#include <string>

#include "runtime/chat/Chat.h"
#include "runtime/tokenizer/Detokenizer.h"

namespace inf {

class PlainParser : public ChatParser {
public:
  /// `tokenizer` must outlive this object.
  PlainParser(const Tokenizer &tokenizer, SpecialOutput specials)
      : detokenizer(tokenizer, specials) {}
  void push(int32_t id, std::vector<ChatDelta> &deltas) override;
  ChatEnd finish(bool stopped, std::vector<ChatDelta> &deltas) override;
  bool inReasoning() const override { return false; }
  uint32_t reasoningTokens() const override { return 0; }
  std::vector<int32_t> endReasoning() const override { return {}; }
  std::string warning() const override { return {}; }

private:
  Detokenizer detokenizer;
};

/// The text of ids, special tokens shown, as well-formed UTF-8.
std::string plainText(const Tokenizer &tokenizer, std::span<const int32_t> ids);

} // namespace inf
