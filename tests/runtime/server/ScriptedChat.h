// A chat format that is easy to write answers in: <|channel|> begins reasoning, <|message|>
// content,
// <|constrain|> a call whose first line is the name and the rest the arguments.
#pragma once

#include <atomic>
#include <chrono>

#include "runtime/chat/Chat.h"

namespace inf::test {

class ScriptedChat : public ChatFormat {
public:
  explicit ScriptedChat(const Tokenizer &forText) : tokenizer(forText) {}
  std::string_view name() const override { return "scripted"; }
  /// "role:content;" of each message, ids and names included.
  std::vector<int32_t> render(std::span<const ChatMessage> messages,
                              const ChatSettings &settings) const override;
  std::unique_ptr<ChatParser> parser(const ChatSettings &settings) const override;
  std::span<const int32_t> stopTokens() const override { return {}; }
  bool reasons() const override { return true; }
  bool hasTools() const override { return tools; }

  bool tools = true;
  std::atomic<std::chrono::milliseconds> delay{}; ///< of each render()
  /// Calls of render(), and the bytes of all that it made.
  size_t rendered() const { return renders; }
  size_t renderedBytes() const { return bytes; }
  /// The ids of a script such as "<|channel|>hm<|message|>yes<|return|>".
  std::vector<int32_t> ids(std::string_view script) const;

private:
  const Tokenizer &tokenizer;
  mutable std::atomic<size_t> renders{0}, bytes{0};
};

} // namespace inf::test
