// /v1/completions
#include <fmt/format.h>

#include "runtime/server/AnswerStart.h"
#include "runtime/server/CompletionAnswer.h"
#include "runtime/server/PlainParser.h"
#include "runtime/server/PromptText.h"

namespace inf {
namespace {

using nlohmann::json;

constexpr uint32_t defaultMaxTokens = 16; ///< OpenAI's

struct Prompt {
  std::vector<int32_t> ids;
  std::string text;
  size_t hidden = 0; ///< ids in front that the text doesn't show
};

struct CompletionsRequest {
  GenerationFields generation;
  std::vector<Prompt> prompts;
  bool echo = false, promptOnly = false;
};

Prompt textPrompt(const ServedModel &model, const std::string &text) {
  Prompt prompt;
  prompt.ids = encodeText(model, text, SpecialTokens::AsText, TextEnds::Begun, "prompt");
  expectPromptFits(model, prompt.ids.size(), "prompt");
  prompt.text = text;
  prompt.hidden = model.tokenizer.tokensBefore().size();
  return prompt;
}

/// The text of ids is what the detokenizer shows of them, so that it is UTF-8.
Prompt idsPrompt(const ServedModel &model, const json &ids, const std::string &where) {
  Prompt prompt;
  expectPromptFits(model, ids.size(), "prompt");
  for (const json &id : ids) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= model.service.limits().vocabulary)
      throw invalidField(
          where, "invalid_value",
          fmt::format("expects token ids, 0 to {}.", model.service.limits().vocabulary - 1));
    prompt.ids.push_back(static_cast<int32_t>(id.get<uint64_t>()));
  }
  prompt.text = plainText(model.tokenizer, prompt.ids);
  return prompt;
}

/// Before anything is encoded.
void expectChoices(const ServedModel &model, size_t choices) {
  if (choices > mostChoices)
    throw invalidField(
        "/n", "invalid_value",
        fmt::format("makes {} choices of all prompts, expected at most {}.", choices, mostChoices));
  expectPlaces(model, choices, "n");
}

/// A text, a list of ids, or a list of either. `choices` are made of each.
std::vector<Prompt> readPrompts(const ServedModel &model, RequestFields &fields, size_t choices) {
  const json &value = fields.need("prompt");
  const std::string where = fields.at("prompt");
  if (value.is_string())
    return {textPrompt(model, value.get_ref<const std::string &>())};
  if (!value.is_array() || value.empty())
    throw invalidField(where, "invalid_type", "expects a string, token ids, or a list of either.");
  if (value.front().is_number())
    return {idsPrompt(model, value, where)};
  if (value.size() > mostChoices)
    throw invalidField(
        where, "invalid_value",
        fmt::format("has {} prompts, expected at most {}.", value.size(), mostChoices));
  expectChoices(model, value.size() * choices);
  std::vector<Prompt> prompts;
  for (size_t i = 0; i < value.size(); ++i) {
    const std::string place = fmt::format("{}/{}", where, i);
    if (value[i].is_string())
      prompts.push_back(textPrompt(model, value[i].get_ref<const std::string &>()));
    else if (value[i].is_array())
      prompts.push_back(idsPrompt(model, value[i], place));
    else
      throw invalidField(place, "invalid_type", "expects a string or token ids.");
  }
  return prompts;
}

void readLimits(RequestFields &fields, CompletionsRequest &request) {
  GenerationFields &generation = request.generation;
  request.echo = fields.boolean("echo").value_or(false);
  const int64_t most = fields.integer("max_tokens", 0, mostTokens).value_or(defaultMaxTokens);
  request.promptOnly = most == 0;
  if (request.promptOnly && !request.echo)
    throw invalidField(fields.at("max_tokens"), "invalid_value",
                       "is 0, expected at least 1 without \"echo\": true.");
  // The prompt's logprobs come with a step that makes a token; it is not shown.
  generation.maxTokens = uint32_t(std::max<int64_t>(most, 1));
  if (const auto logprobs = fields.integer("logprobs", 0, mostLogprobs))
    generation.logprobs = uint32_t(*logprobs);
}

CompletionsRequest readRequest(const ServedModel &model, const json &body) {
  CompletionsRequest request;
  RequestFields fields(body, "");
  request.generation = readGenerationFields(fields, model.service.limits().vocabulary);
  expectModel(model, request.generation.model);
  readLimits(fields, request);
  fields.unsupported("suffix", {""}, "Leave it out.");
  fields.unsupported("best_of", {1}, "Use n and choose among the choices.");
  ignoreHarmlessFields(fields, request.generation);
  expectChoices(model, request.generation.choices);
  request.prompts = readPrompts(model, fields, request.generation.choices);
  fields.expectNothingElse();
  return request;
}

ChoicePlan makePlan(const ApiCall &call, const CompletionsRequest &request, const Prompt &prompt,
                    uint32_t choice) {
  const GenerationFields &generation = request.generation;
  ChoicePlan plan;
  plan.request = makeRequest(call, generation, prompt.ids, choice);
  plan.request.promptLogprobs = request.echo && generation.logprobs;
  plan.parser = std::make_unique<PlainParser>(
      call.model.tokenizer, generation.skipSpecial ? SpecialOutput::Skip : SpecialOutput::Show);
  plan.options.stop = generation.stop;
  plan.options.logprobs = generation.logprobs.has_value();
  plan.options.ids = generation.returnTokenIds;
  plan.options.showSpecial = !generation.skipSpecial;
  plan.options.promptOnly = request.promptOnly;
  if (request.echo) {
    plan.options.echo = prompt.text;
    plan.options.prompt = prompt.ids;
    plan.options.echoHidden = prompt.hidden;
  }
  plan.firstOfPrompt = choice == 0;
  return plan;
}

} // namespace

void completionsEndpoint(ApiCall &call) {
  const CompletionsRequest request = readRequest(call.model, parseRequestBody(call.request.body));
  std::vector<ChoicePlan> plans;
  for (const Prompt &prompt : request.prompts) {
    for (uint32_t i = 0; i < request.generation.choices; ++i)
      plans.push_back(makePlan(call, request, prompt, i));
  }
  AnswerHead head = makeHead(call, request.generation, "cmpl-");
  head.promptIds = request.prompts.front().ids;
  std::unique_ptr<AnswerFormat> format;
  if (request.generation.stream)
    format =
        std::make_unique<CompletionStream>(std::move(head), call.model.tokenizer, call.exchange);
  else
    format = std::make_unique<CompletionWhole>(std::move(head), plans.size(), call.model.tokenizer,
                                               call.exchange);
  startAnswer(call, std::move(plans), std::move(format));
}

} // namespace inf
