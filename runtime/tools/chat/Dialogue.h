// The loop of a chat: a message, or a command that begins with '/', then an answer.
#pragma once

#include <optional>
#include <string>

#include "runtime/tools/Interrupts.h"
#include "runtime/tools/Output.h"
#include "runtime/tools/chat/AnswerPrinter.h"
#include "runtime/tools/chat/Conversation.h"
#include "runtime/tools/chat/LineInput.h"

namespace inf {

class Dialogue {
public:
  /// All must outlive this object. `interactive`: mistakes are told and the chat goes on; else they
  /// are thrown.
  Dialogue(Conversation &usedConversation, LineInput &usedInput, Output &usedOutput,
           Interrupts &usedInterrupts, const PrinterOptions &printerOptions, bool isInteractive)
      : conversation(usedConversation), input(usedInput), out(usedOutput),
        interrupts(usedInterrupts), printer(usedOutput, printerOptions),
        interactive(isInteractive) {}

  /// Until the input ends, /quit, or Ctrl-C at an empty prompt.
  void run();

private:
  struct Command {
    std::string_view name, argument, help;
    void (Dialogue::*action)(const std::string &argument);
  };
  static const Command commands[];

  /// A whole message; nullopt at the end of it all.
  std::optional<std::string> readMessage();
  LineRead readBlock(std::string text);
  LineRead readContinued(std::string text);
  void handle(const std::string &message);
  void command(const std::string &line);
  void ask(const std::string &question);
  void explainEnd(const Turn &turn);
  void say(const std::string &text) { out.write(text + "\n"); }

  void reset(const std::string &);
  void save(const std::string &path);
  void load(const std::string &path);
  void stats(const std::string &);
  void effort(const std::string &name);
  void system(const std::string &text);
  void help(const std::string &);
  void quit(const std::string &) { done = true; }

  Conversation &conversation;
  LineInput &input;
  Output &out;
  Interrupts &interrupts;
  AnswerPrinter printer;
  bool interactive;
  bool done = false;
};

/// What a turn cost, over one or two lines.
std::string turnText(const Turn &turn, uint32_t context);

} // namespace inf
