#include "runtime/tools/chat/Conversation.h"

namespace inf {
namespace {

void append(const ChatDelta &delta, ChatMessage &answer) {
  switch (delta.kind) {
  case ChatDelta::Kind::Reasoning:
    answer.reasoning += delta.text;
    break;
  case ChatDelta::Kind::Content:
    answer.content += delta.text;
    break;
  case ChatDelta::Kind::ToolCallBegin:
    answer.toolCalls.push_back({delta.id, delta.name, ""});
    break;
  case ChatDelta::Kind::ToolCallArguments:
    answer.toolCalls.at(delta.index).arguments += delta.text;
    break;
  }
}

} // namespace

Conversation::Conversation(const ChatFormat &chatFormat, SessionAnswers &usedAnswers,
                           const ConversationOptions &conversationOptions)
    : format(chatFormat), answers(usedAnswers), chosen(conversationOptions) {}

std::vector<int32_t> Conversation::prompt() const {
  std::vector<ChatMessage> all;
  if (!chosen.system.empty()) {
    all.emplace_back();
    all.back().role = ChatRole::System;
    all.back().content = chosen.system;
  }
  all.insert(all.end(), said.begin(), said.end());
  return format.render(all, chosen.settings);
}

Turn Conversation::answerInto(ChatMessage &answer, const ConversationSinks &sinks) {
  std::unique_ptr<ChatParser> parser = format.parser(chosen.settings);
  std::vector<ChatDelta> deltas;
  auto pass = [&] {
    for (const ChatDelta &delta : deltas) {
      append(delta, answer);
      sinks.delta(delta);
    }
    deltas.clear();
  };
  bool forcing = false;
  AnswerSinks into;
  into.cancelled = sinks.cancelled;
  into.token = [&](int32_t id) {
    parser->push(id, deltas);
    pass();
    AnswerStep next;
    if (!parser->inReasoning())
      forcing = false;
    else if (!forcing && parser->reasoningTokens() >= chosen.reasoningBudget) {
      next.force = parser->endReasoning();
      forcing = true;
    }
    return next;
  };
  AnswerRequest request;
  request.prompt = prompt();
  request.stopTokens = format.stopTokens();
  request.maxTokens = chosen.maxTokens;
  Turn turn;
  turn.answer = answers.answer(request, into);
  turn.end = parser->finish(turn.answer.end == AnswerEnd::Stop, deltas);
  pass();
  turn.reasoningTokens = parser->reasoningTokens();
  turn.warning = parser->warning();
  return turn;
}

Turn Conversation::ask(const std::string &question, const ConversationSinks &sinks) {
  said.emplace_back();
  said.back().content = question;
  ChatMessage answer;
  answer.role = ChatRole::Assistant;
  try {
    past.push_back(answerInto(answer, sinks));
  } catch (...) {
    said.pop_back();
    throw;
  }
  bool nothing = answer.content.empty() && answer.toolCalls.empty();
  if (past.back().answer.end == AnswerEnd::Cancelled && nothing)
    said.pop_back();
  else
    said.push_back(std::move(answer));
  return past.back();
}

} // namespace inf
