// /v1/chat/completions
#include "runtime/server/ChatAnswer.h"
#include "runtime/server/ChatMessages.h"
#include "runtime/server/ChatStart.h"

namespace inf {
namespace {

using nlohmann::json;

void readMaxTokens(RequestFields &fields, GenerationFields &to) {
  const auto now = fields.integer("max_completion_tokens", 1, mostTokens);
  const auto before = fields.integer("max_tokens", 1, mostTokens);
  if (now && before && *now != *before)
    throw invalidField(fields.at("max_tokens"), "invalid_value",
                       "differs from max_completion_tokens; give one of them.");
  if (now || before)
    to.maxTokens = uint32_t(now ? *now : *before);
}

void readLogprobs(RequestFields &fields, GenerationFields &to) {
  const auto top = fields.integer("top_logprobs", 0, mostLogprobs);
  const bool wanted = fields.boolean("logprobs").value_or(false);
  if (top && !wanted)
    throw invalidField(fields.at("top_logprobs"), "invalid_value", "needs \"logprobs\": true.");
  if (wanted)
    to.logprobs = uint32_t(top.value_or(0));
}

void readResponseFormat(RequestFields &fields) {
  const json *value = fields.find("response_format");
  if (!value)
    return;
  RequestFields format(*value, fields.at("response_format"));
  if (format.needString("type") != "text")
    throw invalidField(format.at("type"), "unsupported_parameter",
                       "is not supported by this server: structured output is not built; expected "
                       "text.");
  format.expectNothingElse();
}

void refuseTheRest(RequestFields &fields) {
  fields.unsupported("functions", {json::array()}, "Use tools.");
  fields.unsupported("function_call", {"none"}, "Use tool_choice.");
  fields.unsupported("audio", {}, "Leave it out.");
  fields.unsupported("modalities", {json::array({"text"})}, "Only text can be generated.");
  fields.unsupported("web_search_options", {}, "Leave it out.");
  fields.unsupported("verbosity", {"medium"}, "Ask for it in a message.");
  fields.unsupported("skip_special_tokens", {true}, "Use /v1/completions.");
}

ChatRequest readRequest(const ServedModel &model, const json &body) {
  ChatRequest request;
  RequestFields fields(body, "");
  request.generation = readGenerationFields(fields, model.service.limits().vocabulary);
  expectModel(model, request.generation.model);
  const ChatFormat &format = chatFormatOf(model);
  readMaxTokens(fields, request.generation);
  readLogprobs(fields, request.generation);
  readResponseFormat(fields);
  request.settings.date = today();
  request.settings.effort = readEffort(fields, "reasoning_effort");
  if (const auto budget = fields.integer("reasoning_budget", 0, mostTokens))
    request.reasoningBudget = uint32_t(*budget);
  request.parallelToolCalls = fields.boolean("parallel_tool_calls").value_or(true);
  readTools(fields, true, format, request.settings, request.generation.warnings);
  refuseTheRest(fields);
  ignoreHarmlessFields(fields, request.generation);
  request.messages = readChatMessages(fields, request.generation.warnings);
  fields.expectNothingElse();
  return request;
}

} // namespace

void chatEndpoint(ApiCall &call) {
  const ChatRequest request = readRequest(call.model, parseRequestBody(call.request.body));
  expectPlaces(call.model, request.generation.choices, "n");
  expectChatInReach(call.model, request, "messages");
  const std::vector<int32_t> prompt = renderChat(call.model, request, "messages");
  expectPromptFits(call.model, prompt.size(), "messages");
  std::vector<ChoicePlan> plans = chatPlans(call, request, prompt);
  AnswerHead head = makeHead(call, request.generation, "chatcmpl-");
  head.promptIds = prompt;
  std::unique_ptr<AnswerFormat> format;
  if (request.generation.stream)
    format = std::make_unique<ChatStream>(std::move(head), plans.size(), call.model.tokenizer,
                                          call.exchange);
  else
    format = std::make_unique<ChatWhole>(std::move(head), plans.size(), call.model.tokenizer,
                                         call.exchange);
  startAnswer(call, std::move(plans), std::move(format));
}

} // namespace inf
