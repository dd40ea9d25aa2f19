#include "runtime/server/Truncation.h"

#include <algorithm>

#include "runtime/server/PromptText.h"

namespace inf {
namespace {

constexpr uint32_t usualAnswer = 256; ///< room kept where no maximum was asked for

bool stays(const ChatMessage &message) {
  return message.role == ChatRole::System || message.role == ChatRole::Developer;
}

/// Where each turn begins.
std::vector<size_t> turnsOf(const std::vector<ChatMessage> &messages) {
  std::vector<size_t> turns;
  for (size_t i = 0; i < messages.size(); ++i)
    if (messages[i].role == ChatRole::User)
      turns.push_back(i);
  return turns;
}

std::vector<ChatMessage> without(const std::vector<ChatMessage> &messages, size_t before) {
  std::vector<ChatMessage> left;
  for (size_t i = 0; i < messages.size(); ++i)
    if (i >= before || stays(messages[i]))
      left.push_back(messages[i]);
  return left;
}

/// Tokens that messages [from, to) have at least, without those that stay, or with only those.
size_t tokensOf(const ServedModel &model, const std::vector<ChatMessage> &messages, size_t from,
                size_t to, bool staying, size_t enough) {
  std::vector<std::string_view> texts;
  for (size_t i = from; i < to; ++i)
    if (stays(messages[i]) == staying)
      for (std::string_view text : textsOf(messages[i]))
        texts.push_back(text);
  return countTokens(model, texts, enough);
}

/// The number of the first turn that may stay: with those before it the conversation is far too
/// long, so that they need not be encoded. Each message is counted once, the newest first.
size_t firstInReach(const ServedModel &model, const std::vector<ChatMessage> &messages,
                    const std::vector<size_t> &turns, size_t room) {
  const size_t enough = 2 * room; // formats may leave out a part of what is counted
  size_t sum = tokensOf(model, messages, 0, messages.size(), true, enough);
  size_t end = messages.size();
  for (size_t turn = turns.size(); turn-- > 0; end = turns[turn]) {
    if (sum > enough)
      return turn + 1;
    sum += tokensOf(model, messages, turns[turn], end, false, enough - sum);
  }
  return sum > enough ? 1 : 0;
}

} // namespace

size_t dropOldestTurns(const ServedModel &model, ChatRequest &request, const char *param) {
  const uint32_t context = model.tokens();
  const size_t room =
      context - std::min(request.generation.maxTokens.value_or(usualAnswer), context / 2);
  const std::vector<size_t> turns = turnsOf(request.messages);
  if (turns.size() < 2)
    return 0;
  ChatRequest shorter = request;
  const auto keep = [&](size_t before) { shorter.messages = without(request.messages, before); };
  const auto fits = [&](size_t before) {
    keep(before);
    return renderChat(model, shorter, param).size() <= room;
  };
  const size_t last = turns.size() - 1;
  const size_t reach = std::min(firstInReach(model, request.messages, turns, room), last);
  if (reach == 0 && fits(0))
    return 0;
  keep(turns[last]);
  expectChatInReach(model, shorter, param);
  size_t first = last;
  if (reach < last && fits(turns[last])) // else the search would render what is too long each time
    // Fewer messages make no longer prompt: the first turn to keep is found by halving.
    first =
        size_t(std::partition_point(turns.begin() + std::ptrdiff_t(std::max<size_t>(reach, 1)),
                                    turns.end() - 1, [&](size_t before) { return !fits(before); }) -
               turns.begin());
  std::vector<ChatMessage> left = without(request.messages, turns[first]);
  const size_t dropped = request.messages.size() - left.size();
  request.messages = std::move(left);
  return dropped;
}

} // namespace inf
