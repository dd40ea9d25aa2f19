// /v1/responses
#include <algorithm>

#include <fmt/format.h>

#include "runtime/server/ChatMessages.h"
#include "runtime/server/ChatStart.h"
#include "runtime/server/ResponsesAnswer.h"
#include "runtime/server/ResponsesInput.h"
#include "runtime/server/Truncation.h"

namespace inf {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr size_t mostRepeated = 64 << 10; ///< bytes of one field of the request
constexpr size_t mostIncluded = 16;
constexpr size_t mostMetadata = 16, mostMetadataKey = 64, mostMetadataValue = 512; ///< OpenAI's

struct ResponsesRequest {
  ChatRequest chat;
  bool truncate = false;
};

/// A field of the request as it was, or `otherwise`: every event of a stream's frame has it, so
/// what is long is left out.
ordered_json repeated(const json &body, const char *key, ordered_json otherwise,
                      std::vector<std::string> &warnings) {
  const auto found = body.find(key);
  if (found == body.end() || found->is_null())
    return otherwise;
  if (found->dump(-1, ' ', false, json::error_handler_t::replace).size() <= mostRepeated)
    return *found;
  warnOnce(warnings, fmt::format("{} is too long to be repeated in the response", key));
  return otherwise;
}

/// Repeated in the response, and otherwise without meaning here.
void checkMetadata(RequestFields &fields) {
  const json *value = fields.find("metadata");
  if (!value)
    return;
  const std::string where = fields.at("metadata");
  if (!value->is_object() || value->size() > mostMetadata)
    throw invalidField(where, "invalid_value",
                       fmt::format("expects an object of at most {} texts.", mostMetadata));
  for (const auto &item : value->items())
    if (item.key().size() > mostMetadataKey || !item.value().is_string() ||
        item.value().get_ref<const std::string &>().size() > mostMetadataValue)
      throw invalidField(where, "invalid_value",
                         fmt::format("expects keys of at most {} bytes and texts of at most {}.",
                                     mostMetadataKey, mostMetadataValue));
}

void refuseState(RequestFields &fields) {
  constexpr const char *instead = "Responses are not stored; give the whole conversation as input.";
  fields.unsupported("previous_response_id", {}, instead);
  fields.unsupported("conversation", {}, instead);
  fields.unsupported("background", {false}, instead);
  fields.unsupported("prompt", {}, "Stored prompts do not exist; give instructions and input.");
  fields.unsupported("max_tool_calls", {}, "It limits built-in tools, which do not exist.");
  fields.unsupported("context_management", {json::array()}, "Use truncation.");
  fields.unsupported("n", {1}, "Ask several times.");
  fields.unsupported("return_token_ids", {false}, "Use /v1/chat/completions.");
  fields.unsupported("skip_special_tokens", {true}, "Use /v1/completions.");
}

void readLogprobs(RequestFields &fields, GenerationFields &to) {
  bool wanted = false;
  const std::vector<const json *> included = fields.array("include", mostIncluded);
  for (size_t i = 0; i < included.size(); ++i) {
    if (*included[i] == "message.output_text.logprobs")
      wanted = true;
    else if (*included[i] == "reasoning.encrypted_content")
      warnOnce(to.warnings, "reasoning comes as text, not encrypted");
    else
      throw invalidField(fmt::format("{}/{}", fields.at("include"), i), "unsupported_parameter",
                         "is not supported by this server; expected message.output_text.logprobs.");
  }
  const auto top = fields.integer("top_logprobs", 0, mostLogprobs);
  if (top.value_or(0) > 0 && !wanted)
    throw invalidField(fields.at("top_logprobs"), "invalid_value",
                       "needs \"include\": [\"message.output_text.logprobs\"].");
  if (wanted)
    to.logprobs = uint32_t(top.value_or(0));
}

void readText(RequestFields &fields) {
  const json *value = fields.find("text");
  if (!value)
    return;
  RequestFields text(*value, fields.at("text"));
  if (const json *kind = text.find("format")) {
    RequestFields format(*kind, text.at("format"));
    if (format.needString("type") != "text")
      throw invalidField(format.at("type"), "unsupported_parameter",
                         "is not supported by this server: structured output is not built; "
                         "expected text.");
    format.expectNothingElse();
  }
  text.unsupported("verbosity", {"medium"}, "Ask for it in the instructions.");
  text.expectNothingElse();
}

void readReasoning(RequestFields &fields, ChatRequest &chat) {
  const json *value = fields.find("reasoning");
  if (!value)
    return;
  RequestFields reasoning(*value, fields.at("reasoning"));
  chat.settings.effort = readEffort(reasoning, "effort");
  reasoning.ignore({"summary", "generate_summary"});
  if (!reasoning.ignored().empty())
    chat.generation.warnings.push_back("reasoning comes as text, not as a summary");
  reasoning.expectNothingElse();
}

/// What the response repeats of the request, and the places for all else. Adds to the warnings.
ordered_json frameOf(const json &body, ChatRequest &chat) {
  std::vector<std::string> &warnings = chat.generation.warnings;
  ordered_json frame;
  frame["id"] = nullptr; // these two are the head's
  frame["object"] = "response";
  frame["created_at"] = nullptr;
  frame["status"] = "in_progress";
  frame["error"] = nullptr;
  frame["incomplete_details"] = nullptr;
  frame["instructions"] = repeated(body, "instructions", nullptr, warnings);
  frame["max_output_tokens"] = repeated(body, "max_output_tokens", nullptr, warnings);
  frame["model"] = chat.generation.model;
  frame["output"] = ordered_json::array();
  frame["parallel_tool_calls"] = chat.parallelToolCalls;
  frame["previous_response_id"] = nullptr;
  frame["reasoning"] =
      repeated(body, "reasoning", {{"effort", "medium"}, {"summary", nullptr}}, warnings);
  frame["store"] = false;
  frame["temperature"] = repeated(body, "temperature", 1.0, warnings);
  frame["text"]["format"]["type"] = "text";
  frame["tool_choice"] = repeated(body, "tool_choice", "auto", warnings);
  frame["tools"] = repeated(body, "tools", ordered_json::array(), warnings);
  frame["top_p"] = repeated(body, "top_p", 1.0, warnings);
  frame["truncation"] = repeated(body, "truncation", "disabled", warnings);
  frame["usage"] = nullptr;
  frame["metadata"] = repeated(body, "metadata", ordered_json::object(), warnings);
  frame["top_logprobs"] = chat.generation.logprobs.value_or(0);
  return frame;
}

ResponsesRequest readRequest(const ServedModel &model, const json &body) {
  ResponsesRequest request;
  ChatRequest &chat = request.chat;
  RequestFields fields(body, "");
  chat.generation = readGenerationFields(fields, model.service.limits().vocabulary);
  expectModel(model, chat.generation.model);
  const ChatFormat &format = chatFormatOf(model);
  if (const auto most = fields.integer("max_output_tokens", 1, mostTokens))
    chat.generation.maxTokens = uint32_t(*most);
  chat.settings.date = today();
  readReasoning(fields, chat);
  if (const auto budget = fields.integer("reasoning_budget", 0, mostTokens))
    chat.reasoningBudget = uint32_t(*budget);
  readText(fields);
  chat.parallelToolCalls = fields.boolean("parallel_tool_calls").value_or(true);
  readTools(fields, false, format, chat.settings, chat.generation.warnings);
  request.truncate = fields.choice("truncation", {"auto", "disabled"}) == "auto";
  readLogprobs(fields, chat.generation);
  refuseState(fields);
  checkMetadata(fields);
  if (fields.boolean("store").value_or(false))
    chat.generation.warnings.push_back("responses are not stored");
  ignoreHarmlessFields(fields, chat.generation);
  chat.messages = readResponsesInput(fields, chat.generation.warnings);
  fields.expectNothingElse();
  return request;
}

} // namespace

void responsesEndpoint(ApiCall &call) {
  const json body = parseRequestBody(call.request.body);
  ResponsesRequest request = readRequest(call.model, body);
  ChatRequest &chat = request.chat;
  const size_t dropped = request.truncate ? dropOldestTurns(call.model, chat, "input") : 0;
  expectChatInReach(call.model, chat, "input");
  const std::vector<int32_t> prompt = renderChat(call.model, chat, "input");
  expectPromptFits(call.model, prompt.size(), "input");
  if (dropped > 0)
    chat.generation.warnings.push_back(fmt::format("{} old messages were dropped", dropped));
  std::vector<ChoicePlan> plans = chatPlans(call, chat, prompt);
  ordered_json frame = frameOf(body, chat);
  AnswerHead head = makeHead(call, chat.generation, "resp_");
  frame["id"] = head.id;
  frame["created_at"] = head.created;
  frame["system_fingerprint"] = head.fingerprint;
  if (request.truncate)
    frame["dropped_messages"] = dropped;
  startAnswer(call, std::move(plans),
              std::make_unique<ResponsesAnswer>(std::move(head), std::move(frame),
                                                chat.generation.stream, call.model.tokenizer,
                                                call.exchange));
}

} // namespace inf
