// /tokenize and /detokenize
#include <fmt/format.h>

#include "runtime/server/AnswerStart.h"
#include "runtime/server/PlainParser.h"
#include "runtime/server/PromptText.h"

namespace inf {

using nlohmann::json;
using nlohmann::ordered_json;

void tokenizeEndpoint(ApiCall &call) {
  const json body = parseRequestBody(call.request.body);
  RequestFields fields(body, "");
  if (const auto name = fields.string("model"))
    expectModel(call.model, *name);
  const std::string prompt = fields.needString("prompt");
  const bool special = fields.boolean("parse_special").value_or(false);
  const bool begun = fields.boolean("add_special_tokens").value_or(true);
  fields.expectNothingElse();
  const std::vector<int32_t> ids =
      encodeText(call.model, prompt, special ? SpecialTokens::Allow : SpecialTokens::AsText,
                 begun ? TextEnds::Begun : TextEnds::Bare, "prompt");
  ordered_json answer;
  answer["count"] = ids.size();
  answer["max_model_len"] = call.model.tokens();
  answer["tokens"] = ids;
  call.exchange->respond(jsonResponse(answer));
}

void detokenizeEndpoint(ApiCall &call) {
  const json body = parseRequestBody(call.request.body);
  RequestFields fields(body, "");
  if (const auto name = fields.string("model"))
    expectModel(call.model, *name);
  const json &ids = fields.need("tokens");
  const uint32_t vocabulary = call.model.service.limits().vocabulary;
  if (!ids.is_array())
    throw invalidField("/tokens", "invalid_type", "expects token ids.");
  std::vector<int32_t> tokens;
  for (const json &id : ids) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= vocabulary)
      throw invalidField("/tokens", "invalid_value",
                         fmt::format("expects token ids, 0 to {}.", vocabulary - 1));
    tokens.push_back(static_cast<int32_t>(id.get<uint64_t>()));
  }
  fields.expectNothingElse();
  call.exchange->respond(jsonResponse({{"prompt", plainText(call.model.tokenizer, tokens)}}));
}

} // namespace inf
