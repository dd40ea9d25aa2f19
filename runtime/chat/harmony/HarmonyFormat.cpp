#include "runtime/chat/harmony/HarmonyFormat.h"

#include "runtime/chat/PromptBuilder.h"
#include "runtime/chat/RequiredTool.h"
#include "runtime/chat/harmony/HarmonyConversation.h"
#include "runtime/chat/harmony/HarmonyParser.h"

namespace inf {
namespace {

/// What the prompt writes of the answer's header: nothing, or a call's up to <|message|> (or, if
/// any tool will do, up to its name).
std::vector<HeaderPart> openingOf(const ChatSettings &settings) {
  std::vector<HeaderPart> parts = {{HeaderPart::Kind::Role, ""}};
  if (!settings.requireTool)
    return parts;
  std::string name = requiredToolName(settings);
  parts.push_back({HeaderPart::Kind::Channel, "commentary to=functions." + name});
  if (!name.empty()) {
    parts.back().text += " ";
    parts.push_back({HeaderPart::Kind::Constrain, "json"});
  }
  return parts;
}

} // namespace

HarmonyFormat::HarmonyFormat(const Tokenizer &usedTokenizer)
    : tokenizer(usedTokenizer), tokens(usedTokenizer), stops{tokens.finalReturn, tokens.call} {}

std::vector<int32_t> HarmonyFormat::render(std::span<const ChatMessage> messages,
                                           const ChatSettings &settings) const {
  std::vector<HarmonyMessage> conversation =
      dropOldAnalysis(harmonyConversation(messages, settings), true);
  std::vector<int32_t> ids = renderHarmony(tokenizer, tokens, conversation, true);
  PromptBuilder opening(tokenizer);
  for (const HeaderPart &part : openingOf(settings)) {
    if (part.kind != HeaderPart::Kind::Role)
      opening.control(part.kind == HeaderPart::Kind::Channel ? tokens.channel : tokens.constrain);
    opening.text(part.text);
  }
  std::vector<int32_t> more = opening.take();
  ids.insert(ids.end(), more.begin(), more.end());
  return ids;
}

std::unique_ptr<ChatParser> HarmonyFormat::parser(const ChatSettings &settings) const {
  return std::make_unique<HarmonyParser>(tokenizer, tokens, openingOf(settings));
}

} // namespace inf
