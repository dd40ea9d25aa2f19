#include "runtime/server/ChatStart.h"

#include <chrono>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "runtime/server/PromptText.h"

namespace inf {

const ChatFormat &chatFormatOf(const ServedModel &model) {
  if (!model.chat)
    throw ApiError(400, "invalid_request_error", "no_chat_format",
                   fmt::format("The model '{}' has no chat format; use /v1/completions.", model.id),
                   "model");
  return *model.chat;
}

std::vector<std::string_view> textsOf(const ChatMessage &message) {
  std::vector<std::string_view> texts = {message.content};
  for (const ChatToolCall &call : message.toolCalls)
    texts.push_back(call.arguments);
  return texts;
}

void expectChatInReach(const ServedModel &model, const ChatRequest &request, const char *param) {
  std::vector<std::string_view> texts;
  for (const ChatTool &tool : request.settings.tools)
    texts.insert(texts.end(), {tool.description, tool.parameters});
  for (const ChatMessage &message : request.messages) {
    const std::vector<std::string_view> more = textsOf(message);
    texts.insert(texts.end(), more.begin(), more.end());
  }
  expectTextsInReach(model, texts, param);
}

std::vector<int32_t> renderChat(const ServedModel &model, const ChatRequest &request,
                                const char *param) {
  try {
    return chatFormatOf(model).render(request.messages, request.settings);
  } catch (const Error &error) {
    if (error.code == ErrorCode::BadInput || error.code == ErrorCode::TooLong)
      throw textError(error, param);
    if (error.code != ErrorCode::Usage)
      throw;
    throw ApiError(400, "invalid_request_error", "invalid_messages", error.what(), param);
  }
}

std::vector<ChoicePlan> chatPlans(const ApiCall &call, const ChatRequest &request,
                                  const std::vector<int32_t> &prompt) {
  const ChatFormat &format = chatFormatOf(call.model);
  const GenerationFields &generation = request.generation;
  std::vector<ChoicePlan> plans(generation.choices);
  for (uint32_t i = 0; i < generation.choices; ++i) {
    ChoicePlan &plan = plans[i];
    plan.request = makeRequest(call, generation, prompt, i);
    if (!generation.ignoreEos)
      plan.request.stopTokens.insert(plan.request.stopTokens.end(), format.stopTokens().begin(),
                                     format.stopTokens().end());
    plan.parser = format.parser(request.settings);
    plan.options.stop = generation.stop;
    plan.options.reasoningBudget = request.reasoningBudget;
    plan.options.oneToolCall = !request.parallelToolCalls;
    plan.options.logprobs = generation.logprobs.has_value();
    plan.options.ids = generation.returnTokenIds;
    plan.firstOfPrompt = i == 0;
  }
  return plans;
}

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(now));
}

} // namespace inf
