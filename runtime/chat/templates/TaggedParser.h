// Answers of models that mark reasoning and calls in their text: <think>…</think>,
// <tool_call>{…}</tool_call>, or (Llama 3.1) an answer that is nothing but a call.
#pragma once

#include <string>
#include <vector>

#include "runtime/chat/Chat.h"

namespace inf {

struct TaggedOptions {
  bool thinks = false;         ///< <think> is a mark
  bool callTags = false;       ///< <tool_call> is a mark
  bool wholeCall = false;      ///< an answer that begins with '{' may be a call
  std::string_view beginFinal; ///< what ends reasoning and begins the answer
};

/// Marks go, with the line feeds between them and the text; all else is emitted once. A mark that
/// never ends is one all the same: reasoning that is cut is reasoning. A call is emitted when it is
/// whole, since its name need not come first; one that names no function is content.
class TaggedParser final : public ChatParser {
public:
  /// `usedTokenizer` must outlive this object. `opening`: what the prompt has written of the
  /// answer.
  TaggedParser(const Tokenizer &usedTokenizer, const TaggedOptions &taggedOptions,
               std::string_view opening);

  void push(int32_t id, std::vector<ChatDelta> &deltas) override;
  ChatEnd finish(bool stopped, std::vector<ChatDelta> &deltas) override;
  bool inReasoning() const override { return part == Part::Reasoning; }
  uint32_t reasoningTokens() const override { return reasoningCount; }
  std::vector<int32_t> endReasoning() const override;
  std::string warning() const override { return warnings; }

private:
  enum class Part { Content, Reasoning, Call };

  /// Takes what is sure from `held`: text up to a mark, or to what may become one.
  void scan(std::vector<ChatDelta> &deltas);
  bool takeMark(std::vector<ChatDelta> &deltas);
  std::vector<std::string_view> marks() const;
  void text(std::string_view bytes, std::vector<ChatDelta> &deltas);
  void enter(Part next, std::vector<ChatDelta> &deltas);
  void endCall(std::vector<ChatDelta> &deltas);
  void emit(ChatDelta::Kind kind, std::string bytes, std::vector<ChatDelta> &deltas);
  void warn(const std::string &what);

  const Tokenizer &tokenizer;
  TaggedOptions options;
  Part part = Part::Content;
  std::string pending;     ///< bytes of an unfinished character
  std::string held;        ///< text that may be the beginning of a mark
  std::string breaks;      ///< line feeds that count only if text of the same part follows
  bool partBegins = false; ///< after a mark: line feeds do not count
  bool anything = false;   ///< text of the answer has come
  bool callIsAnswer = false;
  std::string callText, callIdPrefix;
  uint32_t calls = 0, reasoningCount = 0;
  std::string warnings;
};

} // namespace inf
