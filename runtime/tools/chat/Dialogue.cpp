#include "runtime/tools/chat/Dialogue.h"

#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "runtime/chat/Effort.h"
#include "runtime/tokenizer/Utf8.h"
#include "runtime/tools/chat/ConversationFile.h"

namespace inf {
namespace {

constexpr std::string_view quotes = "\"\"\"";

double rate(uint64_t tokens, double seconds) {
  return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
}

} // namespace

const Dialogue::Command Dialogue::commands[] = {
    {"/reset", "", "forget the conversation; instructions and effort stay", &Dialogue::reset},
    {"/save", "FILE", "write the conversation to a file", &Dialogue::save},
    {"/load", "FILE", "go on with a saved conversation", &Dialogue::load},
    {"/stats", "", "what the last answer cost", &Dialogue::stats},
    {"/effort", "low|medium|high", "how hard the model thinks", &Dialogue::effort},
    {"/system", "TEXT", "instructions; without a text: none", &Dialogue::system},
    {"/help", "", "this list", &Dialogue::help},
    {"/quit", "", "end (as Ctrl-D does)", &Dialogue::quit},
};

void Dialogue::run() {
  while (!done) {
    std::optional<Message> message = readMessage();
    if (!message)
      break;
    try {
      handle(*message);
    } catch (const Error &error) {
      if (!interactive || error.code == ErrorCode::Internal)
        throw;
      notice(std::string("error: ") + error.what());
    }
  }
  if (interactive && !done)
    out.write("\n");
}

/// Lines between """ and """, joined by line feeds.
LineRead Dialogue::readBlock(std::string text) {
  text.erase(0, quotes.size());
  while (!text.ends_with(quotes)) {
    LineRead line = input.read(". ");
    if (line.kind == LineRead::Kind::Interrupted)
      return {line.kind, std::string(quotes)}; // takes back the block, which is not empty
    if (line.kind == LineRead::Kind::End)
      return {LineRead::Kind::Text, text};
    text += (text.empty() ? "" : "\n") + line.text;
  }
  text.resize(text.size() - quotes.size());
  if (text.ends_with('\n'))
    text.pop_back();
  return {LineRead::Kind::Text, text};
}

/// A line that ends with a backslash goes on with the next.
LineRead Dialogue::readContinued(std::string text) {
  while (text.ends_with('\\')) {
    text.back() = '\n';
    LineRead line = input.read(". ");
    if (line.kind == LineRead::Kind::Interrupted)
      return {line.kind, text};
    text += line.text;
  }
  return {LineRead::Kind::Text, text};
}

std::optional<Dialogue::Message> Dialogue::readMessage() {
  while (true) {
    interrupts.forget();
    LineRead line = input.read("> ");
    bool quoted = line.kind == LineRead::Kind::Text && line.text.starts_with(quotes);
    if (quoted)
      line = readBlock(line.text);
    else if (line.kind == LineRead::Kind::Text)
      line = readContinued(line.text);
    if (line.kind == LineRead::Kind::End)
      return std::nullopt;
    if (line.kind == LineRead::Kind::Text) {
      if (line.text.find_first_not_of(" \t\n") != std::string::npos)
        return Message{toWellFormed(line.text), quoted};
      continue;
    }
    if (!interactive || line.text.empty())
      return std::nullopt;
    out.write("\n"); // Ctrl-C takes back what was typed
  }
}

void Dialogue::handle(const Message &message) {
  if (message.text.starts_with('/') && !message.quoted)
    command(message.text);
  else
    ask(message.text);
}

void Dialogue::command(const std::string &line) {
  size_t end = std::min(line.find_first_of(" \t\n"), line.size());
  size_t begin = line.find_first_not_of(" \t\n", end);
  std::string name = line.substr(0, end);
  std::string argument = begin == std::string::npos ? "" : line.substr(begin);
  for (const Command &known : commands)
    if (known.name == name)
      return (this->*known.action)(argument);
  fail(ErrorCode::Usage,
       "there is no command '{}'. /help lists them; a message that begins with "
       "'/' can stand between \"\"\" and \"\"\".",
       name);
}

void Dialogue::ask(const std::string &question) {
  ConversationSinks sinks;
  sinks.delta = [this](const ChatDelta &delta) { printer.show(delta); };
  sinks.cancelled = [this] { return interrupts.arrived(); };
  Turn turn = conversation.ask(question, sinks);
  printer.finish();
  explainEnd(turn);
  if (!interactive && turn.answer.end == AnswerEnd::Cancelled)
    done = true;
}

void Dialogue::explainEnd(const Turn &turn) {
  if (turn.answer.end == AnswerEnd::Cancelled)
    notice("stopped");
  else if (turn.answer.end == AnswerEnd::Length)
    notice("the answer was cut: --max-tokens, or the context is full (/reset begins anew)");
  if (!turn.warning.empty())
    notice("the model's answer was malformed: " + turn.warning);
}

void Dialogue::reset(const std::string &) {
  conversation.reset();
  say("The conversation is forgotten.");
}

void Dialogue::save(const std::string &path) {
  if (path.empty())
    fail(ErrorCode::Usage, "/save needs a file, as in /save cats.json.");
  saveConversation(conversation, path);
  say(fmt::format("Saved {} messages to {}.", conversation.messages().size(), path));
}

void Dialogue::load(const std::string &path) {
  if (path.empty())
    fail(ErrorCode::Usage, "/load needs a file, as in /load cats.json.");
  loadConversation(conversation, path);
  say(fmt::format("Loaded {} messages from {}.", conversation.messages().size(), path));
}

void Dialogue::stats(const std::string &) {
  say(conversation.turns().empty() ? std::string("Nothing has been answered yet.")
                                   : turnText(conversation.turns().back(), conversation.context()));
}

void Dialogue::effort(const std::string &name) {
  std::optional<ReasoningEffort> chosen = effortNamed(name);
  if (!chosen)
    fail(ErrorCode::Usage, "expected /effort low, medium or high, got '{}'.", name);
  conversation.options().settings.effort = *chosen;
  say(fmt::format("Reasoning effort: {}.", name));
}

void Dialogue::system(const std::string &text) {
  conversation.options().system = text;
  say(text.empty() ? "No instructions." : "The instructions hold from the next answer on.");
}

void Dialogue::help(const std::string &) {
  for (const Command &known : commands)
    say(fmt::format("{:24} {}", fmt::format("{} {}", known.name, known.argument), known.help));
  say("A line that ends with \\ goes on in the next; \"\"\" begins and ends a text of several "
      "lines.\n"
      "Ctrl-C stops an answer; at an empty prompt it ends the chat, as Ctrl-D does.");
}

std::string_view endName(const Turn &turn) {
  if (turn.answer.end == AnswerEnd::Cancelled)
    return "cancelled";
  if (turn.end == ChatEnd::ToolCalls)
    return "tool_calls";
  return turn.end == ChatEnd::Stop ? "stop" : "length";
}

std::string turnText(const Turn &turn, uint32_t context) {
  const AnswerResult &answer = turn.answer;
  uint64_t evaluated = answer.promptTokens - answer.reusedTokens;
  return fmt::format(
      "prompt {} tokens: {} reused, {} evaluated, {:.1f} tok/s; answer {} tokens ({} of "
      "reasoning), {:.2f} tok/s; context {} of {}",
      answer.promptTokens, answer.reusedTokens, evaluated, rate(evaluated, answer.promptSeconds),
      answer.generatedTokens, turn.reasoningTokens,
      rate(answer.generatedTokens, answer.answerSeconds),
      answer.promptTokens + answer.generatedTokens, context);
}

} // namespace inf
