#include "runtime/chat/harmony/HarmonyConversation.h"

#include "runtime/chat/CallNames.h"
#include "runtime/chat/harmony/HarmonySystem.h"

namespace inf {
namespace {

bool instructs(const ChatMessage &message) {
  return message.role == ChatRole::System || message.role == ChatRole::Developer;
}

HarmonyMessage systemMessage(const ChatSettings &settings) {
  HarmonySystem system;
  if (!settings.modelIdentity.empty())
    system.identity = settings.modelIdentity;
  if (!settings.knowledgeCutoff.empty())
    system.knowledgeCutoff = settings.knowledgeCutoff;
  system.date = settings.date;
  system.effort = settings.effort;
  system.browser = settings.browserTool;
  system.python = settings.pythonTool;
  system.functions = !settings.tools.empty();
  return {"system", "", "", "", harmonySystemText(system)};
}

std::string joinedInstructions(std::span<const ChatMessage> messages) {
  std::string text;
  for (const ChatMessage &message : messages)
    if (!message.content.empty())
      text += (text.empty() ? "" : "\n\n") + message.content;
  return text;
}

void addAssistant(const ChatMessage &message, std::vector<HarmonyMessage> &out) {
  if (!message.reasoning.empty())
    out.push_back({"assistant", "", "analysis", "", message.reasoning});
  if (message.toolCalls.empty())
    out.push_back({"assistant", "", "final", "", message.content});
  else if (!message.content.empty())
    out.push_back({"assistant", "", "commentary", "", message.content});
  for (const ChatToolCall &call : message.toolCalls)
    out.push_back({"assistant", "functions." + call.name, "commentary", "json", call.arguments});
}

} // namespace

std::vector<HarmonyMessage> harmonyConversation(std::span<const ChatMessage> messages,
                                                const ChatSettings &settings) {
  std::vector<HarmonyMessage> out = {systemMessage(settings)};
  size_t leading = 0;
  while (leading < messages.size() && instructs(messages[leading]))
    ++leading;
  std::string developer =
      harmonyDeveloperText(joinedInstructions(messages.first(leading)), settings.tools);
  if (!developer.empty())
    out.push_back({"developer", "", "", "", developer});
  CallNames calls;
  for (size_t i = leading; i < messages.size(); ++i) {
    const ChatMessage &message = messages[i];
    calls.see(message);
    if (instructs(message))
      out.push_back({"developer", "", "", "", harmonyDeveloperText(message.content, {})});
    else if (message.role == ChatRole::User)
      out.push_back({"user", "", "", "", message.content});
    else if (message.role == ChatRole::Assistant)
      addAssistant(message, out);
    else
      out.push_back({"functions." + calls.answered(message, i), "assistant", "commentary", "",
                     message.content});
  }
  return out;
}

} // namespace inf
