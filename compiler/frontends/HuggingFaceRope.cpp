#include <algorithm>
#include <array>

#include "compiler/frontends/HuggingFace.h"
#include "compiler/frontends/Limits.h"
#include "compiler/frontends/Suggest.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

constexpr std::array<std::string_view, 6> knownTypes = {"default", "linear", "dynamic",
                                                        "llama3",  "yarn",   "longrope"};

std::string ropeType(JsonObject &object) {
  std::string older = object.text("type", ""); // before "rope_type"
  std::string type = object.text("rope_type", older.empty() ? "default" : older);
  if (!older.empty() && older != type)
    fail(ErrorCode::BadInput, "{}: type {} and rope_type {} differ; keep one of them",
         object.here().text(), quoteShort(older), quoteShort(type));
  if (std::find(knownTypes.begin(), knownTypes.end(), type) == knownTypes.end())
    fail(ErrorCode::BadInput, "{}: unknown rope type {}; known: {}", object.at("rope_type").text(),
         quoteShort(type), fmt::join(knownTypes, ", "));
  return type;
}

/// theta stands inside the object (newer) or beside it (older).
double ropeTheta(JsonObject &object, std::optional<double> beside, const RopeDefaults &defaults) {
  std::optional<double> inside = object.optionalNumber("rope_theta");
  if (!inside && !beside && defaults.theta)
    return *defaults.theta;
  if (!inside && !beside)
    fail(ErrorCode::BadInput, "{}: missing, also outside of this object; add it",
         object.at("rope_theta").text());
  if (inside && beside && *inside != *beside)
    fail(ErrorCode::BadInput, "{}: {} differs from the rope_theta outside ({}); keep one of them",
         object.at("rope_theta").text(), *inside, *beside);
  return inside ? *inside : *beside;
}

/// The context before scaling: inside the object, or (longrope) beside it.
double originalContext(JsonObject &config, JsonObject &object) {
  std::optional<double> inside = object.optionalNumber("original_max_position_embeddings");
  std::optional<double> beside = config.optionalNumber("original_max_position_embeddings");
  if (inside && beside && *inside != *beside)
    fail(ErrorCode::BadInput, "{}: {} differs from the one outside ({}); keep one of them",
         object.at("original_max_position_embeddings").text(), *inside, *beside);
  return inside ? *inside : beside ? *beside : object.number("original_max_position_embeddings");
}

void readYarn(JsonObject &object, RopeDesc &rope) {
  rope.factor = object.number("factor");
  rope.originalContext = object.number("original_max_position_embeddings");
  rope.betaFast = object.number("beta_fast", rope.betaFast);
  rope.betaSlow = object.number("beta_slow", rope.betaSlow);
  rope.truncate = object.flag("truncate", rope.truncate);
  rope.attentionFactor = object.optionalNumber("attention_factor");
}

void readLlama3(JsonObject &object, RopeDesc &rope) {
  rope.factor = object.number("factor");
  rope.lowFrequencyFactor = object.number("low_freq_factor");
  rope.highFrequencyFactor = object.number("high_freq_factor");
  rope.originalContext = object.number("original_max_position_embeddings");
}

/// How much longer the context became follows from both contexts; where a factor says otherwise,
/// readers differ in which they take, so the attention factor must stand there.
void readLongRope(JsonObject &config, JsonObject &object, RopeDesc &rope) {
  rope.originalContext = originalContext(config, object);
  const double ratio = config.number("max_position_embeddings") / rope.originalContext;
  rope.attentionFactor = object.optionalNumber("attention_factor");
  rope.factor = std::max(1.0, object.number("factor", ratio));
  if (!rope.attentionFactor && rope.factor != std::max(1.0, ratio))
    fail(ErrorCode::BadInput,
         "{}: {} differs from max_position_embeddings / original_max_position_embeddings ({}); add "
         "attention_factor",
         object.at("factor").text(), rope.factor, ratio);
  rope.shortFactors =
      jsonNumbers(object.require("short_factor"), object.at("short_factor"), maxRopePairs);
  rope.longFactors =
      jsonNumbers(object.require("long_factor"), object.at("long_factor"), maxRopePairs);
}

/// Reads one spelling.
RopeDesc readRope(JsonObject &config, JsonObject object, const RopeDefaults &defaults) {
  RopeDesc rope;
  rope.type = ropeType(object);
  rope.theta = ropeTheta(object, config.optionalNumber("rope_theta"), defaults);
  if (rope.type == "linear" || rope.type == "dynamic")
    rope.factor = object.number("factor");
  if (rope.type == "dynamic")
    rope.originalContext = config.number("max_position_embeddings");
  if (rope.type == "yarn")
    readYarn(object, rope);
  if (rope.type == "llama3")
    readLlama3(object, rope);
  if (rope.type == "longrope")
    readLongRope(config, object, rope);
  expectNeutral(object, "partial_rotary_factor", 1.0);
  object.refuseUnknownKeys();
  return rope;
}

bool hasNull(const JsonObject &config, const char *key) {
  auto found = config.json().find(key);
  return found != config.json().end() && found->is_null();
}

} // namespace

RopeDesc importRope(JsonObject &config, const RopeDefaults &defaults) {
  bool older = config.find("rope_scaling"), newer = config.find("rope_parameters");
  if (!older && !newer && !defaults.mayBeAbsent && !hasNull(config, "rope_scaling"))
    fail(ErrorCode::BadInput,
         "{}: neither rope_scaling nor rope_parameters; expected one of them (rope_scaling: null "
         "for no scaling)",
         config.here().text());
  if (!older && !newer) {
    RopeDesc rope;
    rope.theta =
        defaults.theta ? config.number("rope_theta", *defaults.theta) : config.number("rope_theta");
    return rope;
  }
  RopeDesc rope =
      readRope(config, config.object(newer ? "rope_parameters" : "rope_scaling"), defaults);
  if (older && newer && rope != readRope(config, config.object("rope_scaling"), defaults))
    fail(ErrorCode::BadInput, "{}: rope_scaling and rope_parameters differ; keep one of them",
         config.here().text());
  return rope;
}

} // namespace inf
