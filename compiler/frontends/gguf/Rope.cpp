#include "compiler/frontends/Limits.h"
#include "compiler/frontends/Suggest.h"
#include "compiler/frontends/gguf/Import.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

/// A key whose only value here is the neutral one.
void mustBe(GgufImport &in, const std::string &name, double neutral) {
  const auto value = in.metadata.optionalNumber(in.key(name));
  if (value && *value != neutral)
    in.metadata.refuse(
        in.key(name),
        fmt::format(
            "is {}, which is not implemented; expected {}. Use another file of the model, or "
            "describe it in a model.json (docs/bring-your-own-model.md)",
            *value, neutral));
}

/// Files without a type mean linear scaling by the factor; 0 is written for none. (Older files have
/// the factor under another name.)
void importLinear(GgufImport &in, RopeDesc &rope) {
  const auto factor = in.metadata.optionalNumber(in.key("rope.scaling.factor"));
  const auto older = in.metadata.optionalNumber(in.key("rope.scale_linear"));
  in.metadata.ignore(in.key("rope.scaling.original_context_length"));
  const double scale = factor.value_or(older.value_or(1));
  if (factor && older && *factor != *older)
    in.metadata.refuse(in.key("rope.scale_linear"),
                       fmt::format("is {}, but rope.scaling.factor {}", *older, *factor));
  if (scale == 0 || scale == 1)
    return;
  rope.type = "linear";
  rope.factor = scale;
}

void importYarn(GgufImport &in, RopeDesc &rope) {
  rope.type = "yarn";
  rope.factor = in.metadata.number(in.key("rope.scaling.factor"));
  rope.originalContext =
      double(in.metadata.dimension(in.key("rope.scaling.original_context_length")));
  rope.betaFast =
      in.metadata.optionalNumber(in.key("rope.scaling.yarn_beta_fast")).value_or(rope.betaFast);
  rope.betaSlow =
      in.metadata.optionalNumber(in.key("rope.scaling.yarn_beta_slow")).value_or(rope.betaSlow);
}

} // namespace

RopeDesc importGgufRope(GgufImport &in, bool truncate) {
  RopeDesc rope;
  rope.truncate = truncate;
  rope.theta = in.metadata.optionalNumber(in.key("rope.freq_base")).value_or(rope.theta);
  const std::string type = in.metadata.optionalText(in.key("rope.scaling.type")).value_or("none");
  if (type == "yarn")
    importYarn(in, rope);
  else if (type == "none" || type == "linear")
    importLinear(in, rope);
  else
    in.metadata.refuse(
        in.key("rope.scaling.type"),
        fmt::format("is {}, which is not implemented; expected none, linear or yarn. "
                    "Use the model's checkpoint, where dynamic, llama3 and longrope are known, "
                    "too, or another model",
                    quoteShort(type)));
  if (rope.type == "yarn")
    mustBe(in, "rope.scale_linear", 1);
  mustBe(in, "rope.scaling.attn_factor", 1);
  mustBe(in, "rope.scaling.yarn_attn_factor", 1);
  mustBe(in, "rope.scaling.yarn_ext_factor", 1);
  mustBe(in, "rope.scaling.yarn_log_multiplier", 0);
  in.metadata.ignore(in.key("rope.scaling.finetuned"));
  return rope;
}

} // namespace inf
