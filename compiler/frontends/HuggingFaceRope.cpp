#include "compiler/frontends/HuggingFace.h"
#include "compiler/frontends/Suggest.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

std::string ropeType(JsonObject &object) {
  std::string older = object.text("type", ""); // before "rope_type"
  std::string type = object.text("rope_type", older.empty() ? "default" : older);
  if (!older.empty() && older != type)
    fail(ErrorCode::BadInput, "{}: type {} and rope_type {} differ; keep one of them",
         object.here().text(), quoteShort(older), quoteShort(type));
  if (type != "default" && type != "yarn")
    fail(ErrorCode::BadInput, "{}: unknown rope type {}; known: default, yarn",
         object.at("rope_type").text(), quoteShort(type));
  return type;
}

/// theta stands inside the object (newer) or beside it (older).
double ropeTheta(JsonObject &object, std::optional<double> beside) {
  std::optional<double> inside = object.optionalNumber("rope_theta");
  if (!inside && !beside)
    fail(ErrorCode::BadInput, "{}: missing, also outside of this object; add it",
         object.at("rope_theta").text());
  if (inside && beside && *inside != *beside)
    fail(ErrorCode::BadInput, "{}: {} differs from the rope_theta outside ({}); keep one of them",
         object.at("rope_theta").text(), *inside, *beside);
  return inside ? *inside : *beside;
}

/// Reads one spelling.
RopeDesc readRope(JsonObject object, std::optional<double> thetaBeside) {
  RopeDesc rope;
  rope.type = ropeType(object);
  rope.theta = ropeTheta(object, thetaBeside);
  if (rope.type == "yarn") {
    rope.factor = object.number("factor");
    rope.originalContext = object.number("original_max_position_embeddings");
    rope.betaFast = object.number("beta_fast", rope.betaFast);
    rope.betaSlow = object.number("beta_slow", rope.betaSlow);
    rope.truncate = object.flag("truncate", rope.truncate);
    rope.attentionFactor = object.optionalNumber("attention_factor");
  }
  object.refuseUnknownKeys();
  return rope;
}

bool hasNull(const JsonObject &config, const char *key) {
  auto found = config.json().find(key);
  return found != config.json().end() && found->is_null();
}

} // namespace

RopeDesc importRope(JsonObject &config) {
  bool older = config.find("rope_scaling"), newer = config.find("rope_parameters");
  if (!older && !newer && !hasNull(config, "rope_scaling"))
    fail(ErrorCode::BadInput,
         "{}: neither rope_scaling nor rope_parameters; expected one of them (rope_scaling: null "
         "for no scaling)",
         config.here().text());
  std::optional<double> theta = config.optionalNumber("rope_theta");
  if (!older && !newer) {
    RopeDesc rope;
    rope.theta = config.number("rope_theta");
    return rope;
  }
  RopeDesc rope = readRope(config.object(newer ? "rope_parameters" : "rope_scaling"), theta);
  if (older && newer && rope != readRope(config.object("rope_scaling"), theta))
    fail(ErrorCode::BadInput, "{}: rope_scaling and rope_parameters differ; keep one of them",
         config.here().text());
  return rope;
}

} // namespace inf
