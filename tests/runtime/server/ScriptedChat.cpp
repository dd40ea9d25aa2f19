#include "tests/runtime/server/ScriptedChat.h"

#include <thread>

#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "runtime/tokenizer/Detokenizer.h"

namespace inf::test {
namespace {

class Parser : public ChatParser {
public:
  explicit Parser(const Tokenizer &forText)
      : tokenizer(forText), detokenizer(forText, SpecialOutput::Skip) {}

  void push(int32_t id, std::vector<ChatDelta> &deltas) override {
    reasoned += state == State::Reasoning ? 1 : 0;
    if (tokenizer.isSpecial(id))
      return turn(tokenizer.tokenBytes(id), deltas);
    add(detokenizer.push(id), deltas);
  }

  ChatEnd finish(bool stopped, std::vector<ChatDelta> &deltas) override {
    add(detokenizer.finish(), deltas);
    if (calls > 0 && stopped)
      return ChatEnd::ToolCalls;
    return stopped ? ChatEnd::Stop : ChatEnd::Length;
  }

  bool inReasoning() const override { return state == State::Reasoning; }
  uint32_t reasoningTokens() const override { return reasoned; }
  std::vector<int32_t> endReasoning() const override { return {*tokenizer.idOf("<|message|>")}; }
  std::string warning() const override { return {}; }

private:
  enum class State { Content, Reasoning, CallName, CallArguments };

  void turn(std::string_view special, std::vector<ChatDelta> &deltas) {
    add(detokenizer.finish(), deltas);
    if (special == "<|channel|>")
      state = State::Reasoning;
    if (special == "<|message|>")
      state = State::Content;
    if (special == "<|constrain|>") {
      state = State::CallName;
      name.clear();
    }
  }

  void add(std::string text, std::vector<ChatDelta> &deltas) {
    if (text.empty())
      return;
    if (state == State::CallName) {
      name += text;
      const size_t end = name.find('\n');
      if (end == std::string::npos)
        return;
      text = name.substr(end + 1);
      deltas.push_back({ChatDelta::Kind::ToolCallBegin, "", calls, fmt::format("call_{}", calls),
                        name.substr(0, end)});
      ++calls;
      state = State::CallArguments;
      if (text.empty())
        return;
    }
    const auto kind = state == State::Reasoning       ? ChatDelta::Kind::Reasoning
                      : state == State::CallArguments ? ChatDelta::Kind::ToolCallArguments
                                                      : ChatDelta::Kind::Content;
    deltas.push_back({kind, text, calls == 0 ? 0 : calls - 1, "", ""});
  }

  const Tokenizer &tokenizer;
  Detokenizer detokenizer;
  State state = State::Content;
  std::string name;
  uint32_t calls = 0, reasoned = 0;
};

constexpr const char *roleNames[] = {"system", "developer", "user", "assistant", "tool"};

} // namespace

std::vector<int32_t> ScriptedChat::ids(std::string_view script) const {
  return tokenizer.encode(script, SpecialTokens::Allow);
}

std::vector<int32_t> ScriptedChat::render(std::span<const ChatMessage> messages,
                                          const ChatSettings &settings) const {
  ++renders;
  std::this_thread::sleep_for(delay.load());
  std::string text;
  for (const ChatTool &tool : settings.tools)
    text += fmt::format("tool {} {} {};", tool.name, tool.description, tool.parameters);
  if (settings.requireTool)
    text += fmt::format("require [{}];", settings.requiredTool);
  text += fmt::format("effort {};", int(settings.effort));
  for (size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage &message = messages[i];
    if (message.content == "unrenderable")
      fail(ErrorCode::Usage, "message {} can't be rendered", i);
    text += fmt::format("{}:{}", roleNames[int(message.role)], message.content);
    for (const ChatToolCall &call : message.toolCalls)
      text += fmt::format(" call {} {} {}", call.id, call.name, call.arguments);
    if (!message.toolCallId.empty())
      text += fmt::format(" of {} {}", message.toolCallId, message.name);
    text += ";";
  }
  bytes += text.size();
  return tokenizer.encode(text, SpecialTokens::AsText);
}

std::unique_ptr<ChatParser> ScriptedChat::parser(const ChatSettings &) const {
  return std::make_unique<Parser>(tokenizer);
}

} // namespace inf::test
