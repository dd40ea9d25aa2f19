#include "runtime/server/AnswerStart.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace inf {
namespace {

constexpr size_t shownBytes = 64;

int64_t unixTime() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

} // namespace

void expectModel(const ServedModel &model, const std::string &name) {
  if (name != model.id)
    throw ApiError(404, "invalid_request_error", "model_not_found",
                   fmt::format("The model '{}' does not exist; this server has '{}'.",
                               name.substr(0, shownBytes), model.id),
                   "model");
}

void expectPromptFits(const ServedModel &model, size_t tokens, const char *param) {
  const uint32_t context = model.tokens();
  if (tokens == 0)
    throw ApiError(400, "invalid_request_error", "empty_prompt",
                   "The prompt has no tokens; expected at least one.", param);
  if (tokens >= context)
    throw ApiError(400, "invalid_request_error", "context_length_exceeded",
                   fmt::format("The prompt has {} tokens, but the context holds {} with at least "
                               "one generated. Shorten it.",
                               tokens, context),
                   param);
}

void expectPlaces(const ServedModel &model, size_t choices, const char *param) {
  const uint64_t places = model.service.limits().places();
  if (choices > places)
    throw ApiError(400, "invalid_request_error", "invalid_value",
                   fmt::format("The request makes {} choices of all prompts; this server runs and "
                               "queues {} at most. Ask for fewer.",
                               choices, places),
                   param);
}

AnswerHead makeHead(const ApiCall &call, const GenerationFields &fields, std::string_view prefix) {
  AnswerHead head;
  head.id = fmt::format("{}{}", prefix, call.exchange->id());
  head.model = call.model.id;
  head.created = unixTime();
  head.fingerprint = fmt::format("fp_{}_s{}", call.model.buildId, fields.sampling.seed);
  head.includeUsage = fields.includeUsage;
  head.returnTokenIds = fields.returnTokenIds;
  head.logprobs = fields.logprobs.has_value();
  if (!fields.warnings.empty())
    head.fields.push_back({"x-inf-warning", fmt::format("{}", fmt::join(fields.warnings, "; "))});
  return head;
}

uint32_t tokensThatFit(const ServedModel &model, size_t promptTokens,
                       std::optional<uint32_t> most) {
  const size_t context = model.tokens();
  const size_t room = context > promptTokens ? context - promptTokens : 0;
  return uint32_t(std::min<size_t>(most.value_or(UINT32_MAX), room));
}

CompletionRequest makeRequest(const ApiCall &call, const GenerationFields &fields,
                              std::vector<int32_t> prompt, uint32_t choice) {
  CompletionRequest request;
  request.maxTokens = tokensThatFit(call.model, prompt.size(), fields.maxTokens);
  request.prompt = std::move(prompt);
  request.sampling = fields.sampling;
  request.sampling.seed += choice;
  request.ignoreEos = fields.ignoreEos;
  request.stopTokens = fields.stopTokens;
  request.logprobs = fields.logprobs;
  request.tenant = call.tenant;
  if (call.options.deadline.count() > 0)
    request.deadline = call.timeLeft();
  return request;
}

void startAnswer(ApiCall &call, std::vector<ChoicePlan> plans,
                 std::unique_ptr<AnswerFormat> format) {
  Answer::start(
      call.model.service, call.model.tokenizer, std::move(plans), std::move(format), call.exchange,
      [exchange = call.exchange](const AnswerSummary &summary) { exchange->note(summary); });
}

} // namespace inf
