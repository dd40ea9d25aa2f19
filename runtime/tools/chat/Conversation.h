// A chat of one user: its messages, its settings, and the way of a question to an answer.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/chat/Chat.h"
#include "runtime/tools/chat/SessionAnswers.h"

namespace inf {

struct ConversationOptions {
  ChatSettings settings;
  std::string system; ///< instructions; "" = none
  uint64_t maxTokens = UINT64_MAX;
  uint64_t reasoningBudget = UINT64_MAX; ///< tokens of reasoning, then the answer is forced
};

struct ConversationSinks {
  std::function<void(const ChatDelta &)> delta;
  std::function<bool()> cancelled;
};

struct Turn {
  AnswerResult answer;
  ChatEnd end = ChatEnd::Stop;
  uint32_t reasoningTokens = 0;
  std::string warning; ///< of the parser
};

class Conversation {
public:
  /// `chatFormat` and `usedAnswers` must outlive this object.
  Conversation(const ChatFormat &chatFormat, SessionAnswers &usedAnswers,
               const ConversationOptions &conversationOptions);

  /// Asks and waits for the answer, which becomes part of the conversation; one that was cancelled
  /// as far as it came, together with its question not at all when nothing of it came. When this
  /// fails (TooLong), the conversation is as before.
  Turn ask(const std::string &question, const ConversationSinks &sinks);
  void reset() { said.clear(); }

  const std::vector<ChatMessage> &messages() const { return said; }
  void replaceMessages(std::vector<ChatMessage> messages) { said = std::move(messages); }
  ConversationOptions &options() { return chosen; }
  const ConversationOptions &options() const { return chosen; }
  const std::vector<Turn> &turns() const { return past; }
  uint32_t context() const { return answers.context(); }

private:
  std::vector<int32_t> prompt() const;
  Turn answerInto(ChatMessage &answer, const ConversationSinks &sinks);

  const ChatFormat &format;
  SessionAnswers &answers;
  ConversationOptions chosen;
  std::vector<ChatMessage> said;
  std::vector<Turn> past;
};

} // namespace inf
