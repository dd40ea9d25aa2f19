#include "runtime/server/Truncation.h"

#include <algorithm>

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

} // namespace

size_t dropOldestTurns(const ServedModel &model, ChatRequest &request, const char *param) {
  const uint32_t context = model.service.limits().context;
  const size_t room =
      context - std::min(request.generation.maxTokens.value_or(usualAnswer), context / 2);
  ChatRequest shorter = request;
  const auto fits = [&](size_t before) {
    shorter.messages = without(request.messages, before);
    return renderChat(model, shorter, param).size() <= room;
  };
  const std::vector<size_t> turns = turnsOf(request.messages);
  if (turns.size() < 2 || fits(0))
    return 0;
  // Fewer messages make no longer prompt: the first turn to keep is found by halving.
  const auto first = std::partition_point(turns.begin() + 1, turns.end() - 1,
                                          [&](size_t before) { return !fits(before); });
  std::vector<ChatMessage> left = without(request.messages, *first);
  const size_t dropped = request.messages.size() - left.size();
  request.messages = std::move(left);
  return dropped;
}

} // namespace inf
