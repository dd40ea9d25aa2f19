#include "runtime/tools/chat/ChatOnce.h"

#include "runtime/tokenizer/Utf8.h"
#include "runtime/tools/chat/AnswerPrinter.h"
#include "runtime/tools/chat/Dialogue.h"

namespace inf {

std::string chatOnce(Session &session, const ChatOnce &options, const std::string &question,
                     Output &out, Interrupts &interrupts) {
  std::unique_ptr<const ChatFormat> format = chatFormat(session.model(), options.chat);
  SessionAnswers answers(session, options.sampling);
  ConversationOptions wanted = conversationOptions(options.chat);
  wanted.maxTokens = options.maxTokens;
  Conversation conversation(*format, answers, wanted);
  PrinterOptions shown;
  shown.terminal = out.isTerminal();
  AnswerPrinter printer(out, shown);
  ConversationSinks sinks;
  sinks.delta = [&](const ChatDelta &delta) { printer.show(delta); };
  sinks.cancelled = [&] { return interrupts.arrived(); };
  Turn turn = conversation.ask(toWellFormed(question), sinks);
  printer.finish();
  if (!turn.warning.empty())
    notice("the model's answer was malformed: " + turn.warning);
  return turnText(turn, session.context()) + "; finish " + std::string(endName(turn));
}

} // namespace inf
