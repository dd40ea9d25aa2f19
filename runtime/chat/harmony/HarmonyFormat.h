// The chat format of gpt-oss.
#pragma once

#include "runtime/chat/Chat.h"
#include "runtime/chat/harmony/HarmonyHeader.h"
#include "runtime/chat/harmony/HarmonyMessage.h"

namespace inf {

class HarmonyFormat final : public ChatFormat {
public:
  /// Fails with BadInput, naming it, when the vocabulary lacks a control token. `usedTokenizer`
  /// must outlive this object.
  explicit HarmonyFormat(const Tokenizer &usedTokenizer);

  std::string_view name() const override { return "harmony"; }
  /// With a required tool the prompt goes on to its call: there is no reasoning in front of it.
  std::vector<int32_t> render(std::span<const ChatMessage> messages,
                              const ChatSettings &settings) const override;
  std::unique_ptr<ChatParser> parser(const ChatSettings &settings) const override;
  std::span<const int32_t> stopTokens() const override { return stops; }
  bool reasons() const override { return true; }
  bool hasTools() const override { return true; }

private:
  const Tokenizer &tokenizer;
  HarmonyTokens tokens;
  std::vector<int32_t> stops;
};

} // namespace inf
