#include "runtime/chat/harmony/HarmonyParser.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/chat/PromptBuilder.h"
#include "runtime/chat/TokenText.h"
#include "runtime/tokenizer/Utf8.h"

namespace inf {

HarmonyParser::HarmonyParser(const Tokenizer &usedTokenizer, const HarmonyTokens &controlTokens,
                             std::vector<HeaderPart> opening)
    : tokenizer(usedTokenizer), tokens(controlTokens), header(std::move(opening)),
      callIdPrefix(randomCallPrefix()) {
  if (header.empty())
    header.push_back({HeaderPart::Kind::Role, ""});
}

void HarmonyParser::push(int32_t id, std::vector<ChatDelta> &deltas) {
  bool reasoning = inReasoning();
  if (state == State::Header)
    ++headerTokens;
  if (isControl(tokenizer, id))
    pushControl(id, deltas);
  else
    pushText(tokenText(tokenizer, id), deltas);
  if (reasoning)
    ++reasoningCount;
  else if (inReasoning()) // this token began it: the header was reasoning as well
    reasoningCount += headerTokens;
}

void HarmonyParser::pushControl(int32_t id, std::vector<ChatDelta> &deltas) {
  if (id == tokens.start) {
    close(deltas);
    beginHeader(HeaderPart::Kind::Role, false);
  } else if (id == tokens.channel && state == State::Header) {
    header.push_back({HeaderPart::Kind::Channel, ""});
  } else if (id == tokens.channel) { // <|end|><|start|>assistant was left out
    close(deltas);
    beginHeader(HeaderPart::Kind::Channel, true);
    warn("a message began without <|start|>");
  } else if (id == tokens.constrain && state == State::Header) {
    header.push_back({HeaderPart::Kind::Constrain, ""});
  } else if (id == tokens.message && state == State::Header) {
    beginBody(deltas);
  } else if (id == tokens.end || id == tokens.call || id == tokens.finalReturn) {
    close(deltas);
  } else {
    warn(fmt::format("{} where it has no meaning", tokenText(tokenizer, id)));
  }
}

void HarmonyParser::pushText(std::string_view bytes, std::vector<ChatDelta> &deltas) {
  if (state == State::Header) {
    header.back().text += bytes;
    return;
  }
  if (state == State::Between) {
    warn("text outside of messages");
    sink = Sink::Content;
  }
  pending += bytes;
  emit(takeWellFormed(pending), deltas);
}

void HarmonyParser::beginHeader(HeaderPart::Kind first, bool opened) {
  state = State::Header;
  headerOpened = opened;
  header.assign(1, {first, ""});
  headerTokens = 1;
}

HarmonyParser::Sink HarmonyParser::sinkOf(const HarmonyHeader &parsed) const {
  if (parsed.author != "assistant")
    return Sink::Reasoning;
  // "assistant", "user" and "all" are no tools
  bool tool = !parsed.recipient.empty() && parsed.recipient != "assistant" &&
              parsed.recipient != "user" && parsed.recipient != "all";
  if (tool)
    return Sink::Call;
  return parsed.channel == "analysis" ? Sink::Reasoning : Sink::Content;
}

void HarmonyParser::beginBody(std::vector<ChatDelta> &deltas) {
  HarmonyHeader parsed = parseHeader(header, headerOpened);
  state = State::Body;
  sink = sinkOf(parsed);
  if (!parsed.rest.empty())
    warn(fmt::format("stray text in a header: '{}'", toWellFormed(parsed.rest)));
  if (parsed.author != "assistant")
    warn(fmt::format("a message written as '{}'", toWellFormed(parsed.author)));
  else if (parsed.channel != "analysis" && parsed.channel != "commentary" &&
           parsed.channel != "final")
    warn(fmt::format("unknown channel '{}'", toWellFormed(parsed.channel)));
  if (sink == Sink::Call)
    beginCall(parsed.recipient, deltas);
}

void HarmonyParser::beginCall(const std::string &recipient, std::vector<ChatDelta> &deltas) {
  constexpr std::string_view functions = "functions.";
  callName = toWellFormed(recipient.starts_with(functions) ? recipient.substr(functions.size())
                                                           : recipient);
  callArguments.clear();
  ChatDelta delta;
  delta.kind = ChatDelta::Kind::ToolCallBegin;
  delta.index = calls;
  delta.id = fmt::format("{}_{}", callIdPrefix, calls);
  delta.name = callName;
  deltas.push_back(std::move(delta));
  ++calls;
}

void HarmonyParser::emit(std::string text, std::vector<ChatDelta> &deltas) {
  if (text.empty())
    return;
  ChatDelta delta;
  if (sink == Sink::Call) {
    callArguments += text;
    delta.kind = ChatDelta::Kind::ToolCallArguments;
    delta.index = calls - 1;
  } else {
    delta.kind = sink == Sink::Reasoning ? ChatDelta::Kind::Reasoning : ChatDelta::Kind::Content;
  }
  delta.text = std::move(text);
  deltas.push_back(std::move(delta));
}

void HarmonyParser::flush(std::vector<ChatDelta> &deltas) {
  emit(toWellFormed(std::exchange(pending, {})), deltas);
}

void HarmonyParser::close(std::vector<ChatDelta> &deltas) {
  if (state == State::Header) {
    HarmonyHeader parsed = parseHeader(header, headerOpened);
    sink = sinkOf(parsed) == Sink::Reasoning ? Sink::Reasoning : Sink::Content;
    pending = parsed.rest;
    if (!parsed.rest.empty())
      warn("a header without a message");
  }
  flush(deltas);
  if (state == State::Body && sink == Sink::Call && !nlohmann::json::accept(callArguments))
    warn(fmt::format("the arguments of '{}' are not JSON", callName));
  state = State::Between;
  header.clear();
}

ChatEnd HarmonyParser::finish(bool stopped, std::vector<ChatDelta> &deltas) {
  close(deltas);
  if (!stopped)
    return ChatEnd::Length;
  return calls > 0 ? ChatEnd::ToolCalls : ChatEnd::Stop;
}

std::vector<int32_t> HarmonyParser::endReasoning() const {
  if (!inReasoning())
    return {};
  PromptBuilder prompt(tokenizer);
  prompt.control(tokens.end);
  prompt.control(tokens.start);
  prompt.text("assistant");
  prompt.control(tokens.channel);
  prompt.text("final");
  prompt.control(tokens.message);
  return prompt.take();
}

void HarmonyParser::warn(const std::string &what) {
  constexpr size_t enough = 1000; // an answer of nothing but mistakes must not grow without end
  if (warnings.size() < enough && warnings.find(what) == std::string::npos)
    warnings += (warnings.empty() ? "" : "; ") + what;
}

} // namespace inf
