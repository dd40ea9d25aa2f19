#include "runtime/chat/harmony/HarmonyMessage.h"

#include <algorithm>
#include <utility>

#include "runtime/chat/PromptBuilder.h"

namespace inf {

HarmonyTokens::HarmonyTokens(const Tokenizer &tokenizer) {
  auto id = [&](std::string_view text) { return controlToken(tokenizer, text, "harmony"); };
  start = id("<|start|>");
  end = id("<|end|>");
  message = id("<|message|>");
  channel = id("<|channel|>");
  constrain = id("<|constrain|>");
  call = id("<|call|>");
  finalReturn = id("<|return|>");
}

std::vector<HarmonyMessage> dropOldAnalysis(std::vector<HarmonyMessage> messages, bool continues) {
  auto seenBefore = messages.rend();
  auto begin = messages.rbegin();
  if (!continues && begin != messages.rend())
    ++begin; // a final answer that ends the conversation still has its reasons
  seenBefore = std::find_if(begin, messages.rend(), [](const HarmonyMessage &message) {
    return message.author == "assistant" && message.channel == "final";
  });
  auto end = seenBefore.base();
  auto kept = std::remove_if(messages.begin(), end, [](const HarmonyMessage &message) {
    return message.author == "assistant" && message.channel == "analysis" &&
           message.recipient.empty();
  });
  messages.erase(kept, end);
  return messages;
}

namespace {

void renderMessage(PromptBuilder &prompt, const HarmonyTokens &tokens,
                   const HarmonyMessage &message) {
  prompt.control(tokens.start);
  prompt.text(message.author);
  if (!message.recipient.empty())
    prompt.text(" to=" + message.recipient);
  if (!message.channel.empty()) {
    prompt.control(tokens.channel);
    prompt.text(message.channel);
  }
  if (!message.constrain.empty()) {
    prompt.text(" ");
    prompt.control(tokens.constrain);
    prompt.text(message.constrain);
  }
  prompt.control(tokens.message);
  prompt.text(message.text);
  // <|return|> never stands in a history: it only ends what is being generated.
  bool calls = message.author == "assistant" && !message.recipient.empty();
  prompt.control(calls ? tokens.call : tokens.end);
}

} // namespace

std::vector<int32_t> renderHarmony(const Tokenizer &tokenizer, const HarmonyTokens &tokens,
                                   const std::vector<HarmonyMessage> &messages, bool continues) {
  PromptBuilder prompt(tokenizer);
  for (const HarmonyMessage &message : messages)
    renderMessage(prompt, tokens, message);
  if (continues) {
    prompt.control(tokens.start);
    prompt.text("assistant");
  }
  return prompt.take();
}

} // namespace inf
