#include "compiler/frontends/RopeJson.h"

#include "compiler/frontends/Limits.h"
#include "compiler/frontends/RopeTypes.h"
#include "compiler/frontends/Suggest.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

void parseYarn(JsonObject &object, RopeDesc &rope) {
  rope.factor = object.number("factor");
  rope.originalContext = object.number("original_context");
  rope.betaFast = object.number("beta_fast", rope.betaFast);
  rope.betaSlow = object.number("beta_slow", rope.betaSlow);
  rope.truncate = object.flag("truncate", rope.truncate);
}

void parseLlama3(JsonObject &object, RopeDesc &rope) {
  rope.factor = object.number("factor");
  rope.lowFrequencyFactor = object.number("low_frequency_factor");
  rope.highFrequencyFactor = object.number("high_frequency_factor");
  rope.originalContext = object.number("original_context");
}

void parseLongRope(JsonObject &object, RopeDesc &rope) {
  rope.factor = object.number("factor");
  rope.originalContext = object.number("original_context");
  rope.shortFactors =
      jsonNumbers(object.require("short_factors"), object.at("short_factors"), maxRopePairs);
  rope.longFactors =
      jsonNumbers(object.require("long_factors"), object.at("long_factors"), maxRopePairs);
}

} // namespace

RopeDesc parseRopeJson(JsonObject object) {
  RopeDesc rope;
  rope.type = object.text("type", rope.type);
  rope.theta = object.number("theta", rope.theta);
  if (!isRopeType(rope.type))
    fail(ErrorCode::BadInput, "{}: unknown rope type {}; known: {}", object.at("type").text(),
         quoteShort(rope.type), fmt::join(ropeTypes, ", "));
  if (rope.type == "linear" || rope.type == "dynamic")
    rope.factor = object.number("factor");
  if (rope.type == "dynamic")
    rope.originalContext = object.number("original_context");
  if (rope.type == "yarn")
    parseYarn(object, rope);
  if (rope.type == "llama3")
    parseLlama3(object, rope);
  if (rope.type == "longrope")
    parseLongRope(object, rope);
  if (rope.type == "divided")
    rope.divisors = jsonNumbers(object.require("divisors"), object.at("divisors"), maxRopePairs);
  if (hasAttentionFactor(rope.type))
    rope.attentionFactor = object.optionalNumber("attention_factor");
  object.refuseUnknownKeys();
  return rope;
}

nlohmann::ordered_json writeRopeJson(const RopeDesc &rope) {
  nlohmann::ordered_json json{{"type", rope.type}, {"theta", rope.theta}};
  const bool yarn = rope.type == "yarn", llama3 = rope.type == "llama3";
  const bool longRope = rope.type == "longrope", dynamic = rope.type == "dynamic";
  if (yarn || llama3 || longRope || dynamic || rope.type == "linear")
    json["factor"] = rope.factor;
  if (yarn || llama3 || longRope || dynamic)
    json["original_context"] = rope.originalContext;
  if (yarn) {
    json["beta_fast"] = rope.betaFast;
    json["beta_slow"] = rope.betaSlow;
    json["truncate"] = rope.truncate;
  }
  if (llama3) {
    json["low_frequency_factor"] = rope.lowFrequencyFactor;
    json["high_frequency_factor"] = rope.highFrequencyFactor;
  }
  if (longRope) {
    json["short_factors"] = rope.shortFactors;
    json["long_factors"] = rope.longFactors;
  }
  if (rope.type == "divided")
    json["divisors"] = rope.divisors;
  if (hasAttentionFactor(rope.type) && rope.attentionFactor)
    json["attention_factor"] = *rope.attentionFactor;
  return json;
}

} // namespace inf
