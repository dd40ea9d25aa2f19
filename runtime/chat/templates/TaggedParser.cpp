#include "runtime/chat/templates/TaggedParser.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/chat/TokenText.h"
#include "runtime/chat/templates/CallText.h"
#include "runtime/tokenizer/Utf8.h"

namespace inf {
namespace {

constexpr std::string_view thinkBegin = "<think>", thinkEnd = "</think>";
constexpr std::string_view callBegin = "<tool_call>", callEnd = "</tool_call>";

/// Bytes at the end of `text` that may be the beginning of `mark`.
size_t possibleBeginning(std::string_view text, std::string_view mark) {
  for (size_t bytes = std::min(text.size(), mark.size() - 1); bytes > 0; --bytes)
    if (text.ends_with(mark.substr(0, bytes)))
      return bytes;
  return 0;
}

} // namespace

TaggedParser::TaggedParser(const Tokenizer &usedTokenizer, const TaggedOptions &taggedOptions,
                           std::string_view opening)
    : tokenizer(usedTokenizer), options(taggedOptions), held(opening),
      callIdPrefix(randomCallPrefix()) {
  std::vector<ChatDelta> none; // the prompt's part holds no text of the answer
  scan(none);
}

std::vector<std::string_view> TaggedParser::marks() const {
  if (part == Part::Reasoning)
    return {thinkEnd};
  if (part == Part::Call)
    return callIsAnswer ? std::vector<std::string_view>{} : std::vector{callEnd};
  std::vector<std::string_view> all;
  if (options.thinks)
    all.insert(all.end(), {thinkBegin, thinkEnd}); // an end without a beginning is a mark too
  if (options.callTags)
    all.push_back(callBegin);
  return all;
}

void TaggedParser::push(int32_t id, std::vector<ChatDelta> &deltas) {
  std::string_view bytes = tokenText(tokenizer, id);
  bool mark = bytes == thinkBegin || bytes == thinkEnd || bytes == callBegin || bytes == callEnd;
  bool reasoning = inReasoning();
  if (isControl(tokenizer, id) && !mark) {
    warn(fmt::format("{} where it has no meaning", bytes));
  } else {
    pending += bytes;
    held += takeWellFormed(pending);
    scan(deltas);
  }
  if (reasoning || inReasoning())
    ++reasoningCount;
}

void TaggedParser::scan(std::vector<ChatDelta> &deltas) {
  while (takeMark(deltas)) {
  }
  size_t kept = 0;
  for (std::string_view mark : marks())
    kept = std::max(kept, possibleBeginning(held, mark));
  std::string sure = held.substr(0, held.size() - kept);
  held.erase(0, sure.size());
  text(sure, deltas);
}

/// Takes the first mark in `held` and the text in front of it.
bool TaggedParser::takeMark(std::vector<ChatDelta> &deltas) {
  size_t first = std::string::npos;
  std::string_view found;
  for (std::string_view mark : marks())
    if (size_t at = held.find(mark); at < first) {
      first = at;
      found = mark;
    }
  if (found.empty())
    return false;
  text(held.substr(0, first), deltas);
  held.erase(0, first + found.size());
  bool begins = found == thinkBegin || found == callBegin;
  if (begins)
    enter(found == thinkBegin ? Part::Reasoning : Part::Call, deltas);
  else
    enter(Part::Content, deltas);
  return true;
}

void TaggedParser::enter(Part next, std::vector<ChatDelta> &deltas) {
  if (part == Part::Call)
    endCall(deltas);
  part = next;
  breaks.clear();
  partBegins = true;
}

void TaggedParser::text(std::string_view bytes, std::vector<ChatDelta> &deltas) {
  if (partBegins)
    bytes.remove_prefix(std::min(bytes.find_first_not_of('\n'), bytes.size()));
  if (bytes.empty())
    return;
  partBegins = false;
  size_t first = bytes.find_first_not_of(" \n");
  if (options.wholeCall && !anything && first != std::string_view::npos && bytes[first] == '{') {
    part = Part::Call;
    callIsAnswer = true;
  }
  anything = anything || first != std::string_view::npos;
  if (part == Part::Call) {
    callText += bytes;
    return;
  }
  size_t end = bytes.find_last_not_of('\n') + 1; // 0 when there are only line feeds
  std::string shown = end > 0 ? std::exchange(breaks, "") : "";
  shown += bytes.substr(0, end);
  breaks += bytes.substr(end);
  emit(part == Part::Reasoning ? ChatDelta::Kind::Reasoning : ChatDelta::Kind::Content,
       std::move(shown), deltas);
}

void TaggedParser::endCall(std::vector<ChatDelta> &deltas) {
  std::string raw = std::exchange(callText, "");
  std::optional<CallText> call = readCallText(raw);
  if (!call) {
    if (!callIsAnswer)
      warn("a tool call that names no function");
    emit(ChatDelta::Kind::Content, std::move(raw), deltas);
    return;
  }
  if (!call->sound)
    warn(fmt::format("the call of '{}' is not JSON", call->name));
  ChatDelta begin;
  begin.kind = ChatDelta::Kind::ToolCallBegin;
  begin.index = calls++;
  begin.id = fmt::format("{}_{}", callIdPrefix, begin.index);
  begin.name = toWellFormed(call->name);
  deltas.push_back(begin);
  emit(ChatDelta::Kind::ToolCallArguments, std::move(call->arguments), deltas);
}

void TaggedParser::emit(ChatDelta::Kind kind, std::string bytes, std::vector<ChatDelta> &deltas) {
  if (bytes.empty())
    return;
  ChatDelta delta;
  delta.kind = kind;
  delta.text = std::move(bytes);
  delta.index = kind == ChatDelta::Kind::ToolCallArguments ? calls - 1 : 0;
  deltas.push_back(std::move(delta));
}

ChatEnd TaggedParser::finish(bool stopped, std::vector<ChatDelta> &deltas) {
  held += toWellFormed(std::exchange(pending, ""));
  while (takeMark(deltas)) {
  }
  text(std::exchange(held, ""), deltas);
  if (part == Part::Call)
    endCall(deltas);
  if (part == Part::Content)
    emit(ChatDelta::Kind::Content, std::exchange(breaks, ""), deltas);
  if (!stopped)
    return ChatEnd::Length;
  return calls > 0 ? ChatEnd::ToolCalls : ChatEnd::Stop;
}

std::vector<int32_t> TaggedParser::endReasoning() const {
  if (!inReasoning())
    return {};
  return tokenizer.encode(options.beginFinal, SpecialTokens::Allow);
}

void TaggedParser::warn(const std::string &what) {
  constexpr size_t enough = 1000; // an answer of nothing but mistakes must not grow without end
  if (warnings.size() < enough && warnings.find(what) == std::string::npos)
    warnings += (warnings.empty() ? "" : "; ") + what;
}

} // namespace inf
