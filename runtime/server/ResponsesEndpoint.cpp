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

struct ResponsesRequest {
  ChatRequest chat;
  bool truncate = false;
  ordered_json frame; ///< what the response repeats of the request
};

/// A field of the request as it was, or `otherwise`.
ordered_json repeated(const json &body, const char *key, ordered_json otherwise) {
  const auto found = body.find(key);
  return found == body.end() || found->is_null() ? std::move(otherwise) : ordered_json(*found);
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
  fields.unsupported("top_logprobs", {0}, "Use /v1/chat/completions.");
  fields.unsupported("include", {json::array(), json::array({"reasoning.encrypted_content"})},
                     "Reasoning comes as text.");
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

ordered_json frameOf(const json &body, const AnswerHead &head, const ChatRequest &chat) {
  ordered_json frame;
  frame["id"] = head.id;
  frame["object"] = "response";
  frame["created_at"] = head.created;
  frame["status"] = "in_progress";
  frame["error"] = nullptr;
  frame["incomplete_details"] = nullptr;
  frame["instructions"] = repeated(body, "instructions", nullptr);
  frame["max_output_tokens"] = repeated(body, "max_output_tokens", nullptr);
  frame["model"] = head.model;
  frame["output"] = ordered_json::array();
  frame["parallel_tool_calls"] = chat.parallelToolCalls;
  frame["previous_response_id"] = nullptr;
  frame["reasoning"] = repeated(body, "reasoning", {{"effort", "medium"}, {"summary", nullptr}});
  frame["store"] = false;
  frame["temperature"] = repeated(body, "temperature", 1.0);
  frame["text"]["format"]["type"] = "text";
  frame["tool_choice"] = repeated(body, "tool_choice", "auto");
  frame["tools"] = repeated(body, "tools", ordered_json::array());
  frame["top_p"] = repeated(body, "top_p", 1.0);
  frame["truncation"] = repeated(body, "truncation", "disabled");
  frame["usage"] = nullptr;
  frame["metadata"] = repeated(body, "metadata", ordered_json::object());
  frame["system_fingerprint"] = head.fingerprint;
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
  refuseState(fields);
  if (fields.boolean("store").value_or(false))
    chat.generation.warnings.push_back("responses are not stored");
  ignoreHarmlessFields(fields, chat.generation);
  chat.messages = readResponsesInput(fields);
  fields.expectNothingElse();
  return request;
}

} // namespace

void responsesEndpoint(ApiCall &call) {
  const json body = parseRequestBody(call.request.body);
  ResponsesRequest request = readRequest(call.model, body);
  ChatRequest &chat = request.chat;
  const size_t dropped = request.truncate ? dropOldestTurns(call.model, chat, "input") : 0;
  const std::vector<int32_t> prompt = renderChat(call.model, chat, "input");
  expectPromptFits(call.model, prompt.size(), "input");
  if (dropped > 0)
    chat.generation.warnings.push_back(fmt::format("{} old messages were dropped", dropped));
  std::vector<ChoicePlan> plans = chatPlans(call, chat, prompt);
  AnswerHead head = makeHead(call, chat.generation, "resp_");
  ordered_json frame = frameOf(body, head, chat);
  if (request.truncate)
    frame["dropped_messages"] = dropped;
  startAnswer(call, std::move(plans),
              std::make_unique<ResponsesAnswer>(std::move(head), std::move(frame),
                                                chat.generation.stream, call.exchange));
}

} // namespace inf
