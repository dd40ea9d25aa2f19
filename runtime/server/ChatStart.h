// What chat completions and responses have in common: a conversation to choices.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "runtime/server/AnswerStart.h"

namespace inf {

struct ChatRequest {
  GenerationFields generation;
  std::vector<ChatMessage> messages;
  ChatSettings settings;
  std::optional<uint32_t> reasoningBudget;
  bool parallelToolCalls = true;
};

/// The served model's format. Fails with ApiError 400 when it has none.
const ChatFormat &chatFormatOf(const ServedModel &model);

/// What of a message is in the prompt for certain; reasoning need not be.
std::vector<std::string_view> textsOf(const ChatMessage &message);

/// expectTextsInReach() of all that the prompt is made of.
void expectChatInReach(const ServedModel &model, const ChatRequest &request, const char *param);

/// The prompt. Fails with ApiError 400, naming `param`, for messages that the format can't take.
std::vector<int32_t> renderChat(const ServedModel &model, const ChatRequest &request,
                                const char *param);

/// A plan for each choice.
std::vector<ChoicePlan> chatPlans(const ApiCall &call, const ChatRequest &request,
                                  const std::vector<int32_t> &prompt);

/// Today, UTC: "2026-01-31". Day precision: prompts of one day share their beginning.
std::string today();

} // namespace inf
