// The ids of an answer in the Harmony format to its parts.
//
//            <|message|>            <|end|> <|call|> <|return|>
//   Header ─────────────► Body ───────────────────────────────► Between
//      ▲                    │ <|start|> <|channel|>                │
//      └────────────────────┴──────────────────────────────────────┘ <|start|> <|channel|>
//
// Every other token is text in Body and Between, a part of the header in Header.
#pragma once

#include <string>
#include <vector>

#include "runtime/chat/Chat.h"
#include "runtime/chat/harmony/HarmonyHeader.h"
#include "runtime/chat/harmony/HarmonyMessage.h"

namespace inf {

/// What becomes of which text: analysis → reasoning; final, commentary without a recipient (a
/// preamble) and unknown channels → content; with a recipient → a tool call; messages that the
/// model writes as somebody else (a tool's answer it made up) → reasoning, since they are no
/// answer. A header that ends without <|message|> gives the text that belongs to no field of it.
/// Words that belong to nothing in an otherwise sound header are only told in warning().
class HarmonyParser final : public ChatParser {
public:
  /// `usedTokenizer` must outlive this object. `opening`: parts of the header that the prompt has
  /// written already.
  HarmonyParser(const Tokenizer &usedTokenizer, const HarmonyTokens &controlTokens,
                std::vector<HeaderPart> opening);

  void push(int32_t id, std::vector<ChatDelta> &deltas) override;
  ChatEnd finish(bool stopped, std::vector<ChatDelta> &deltas) override;
  bool inReasoning() const override { return state == State::Body && sink == Sink::Reasoning; }
  uint32_t reasoningTokens() const override { return reasoningCount; }
  std::vector<int32_t> endReasoning() const override;
  std::string warning() const override { return warnings; }

private:
  enum class State { Header, Body, Between };
  enum class Sink { Reasoning, Content, Call };

  void pushControl(int32_t id, std::vector<ChatDelta> &deltas);
  void pushText(std::string_view bytes, std::vector<ChatDelta> &deltas);
  void beginHeader(HeaderPart::Kind first, bool opened);
  void beginBody(std::vector<ChatDelta> &deltas);
  void beginCall(const std::string &recipient, std::vector<ChatDelta> &deltas);
  /// Ends what is open: a body, or a header that never got its <|message|>.
  void close(std::vector<ChatDelta> &deltas);
  void emit(std::string text, std::vector<ChatDelta> &deltas);
  void flush(std::vector<ChatDelta> &deltas);
  void warn(const std::string &what);
  Sink sinkOf(const HarmonyHeader &header) const;

  const Tokenizer &tokenizer;
  HarmonyTokens tokens;
  State state = State::Header;
  Sink sink = Sink::Content;
  std::vector<HeaderPart> header;
  bool headerOpened = true; ///< the role stands in the prompt
  std::string pending;      ///< bytes of an unfinished character
  std::string callName, callArguments;
  std::string callIdPrefix;
  uint32_t calls = 0;
  uint32_t headerTokens = 0, reasoningCount = 0;
  std::string warnings;
};

} // namespace inf
