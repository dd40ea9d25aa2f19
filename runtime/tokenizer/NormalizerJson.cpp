#include "runtime/tokenizer/NormalizerJson.h"

#include <optional>

#include "runtime/tokenizer/PatternJson.h"

namespace inf {
namespace {

std::optional<UnicodeForm> formOf(std::string_view type) {
  constexpr std::pair<std::string_view, UnicodeForm> forms[] = {
      {"NFC", UnicodeForm::NFC},
      {"NFD", UnicodeForm::NFD},
      {"NFKC", UnicodeForm::NFKC},
      {"NFKD", UnicodeForm::NFKD},
      {"Lowercase", UnicodeForm::Lowercase},
      {"StripAccents", UnicodeForm::StripAccents},
  };
  for (const auto &[name, form] : forms)
    if (name == type)
      return form;
  return std::nullopt;
}

Normalizer::Step readStep(const Json &json, const std::string &where) {
  FieldReader object(json, where);
  std::string type = object.text("type");
  if (std::optional<UnicodeForm> form = formOf(type)) {
    object.onlyKeys({"type"});
    return *form;
  }
  if (type == "Prepend") {
    object.onlyKeys({"type", "prepend"});
    return PrependStep{object.text("prepend")};
  }
  if (type == "Replace") {
    object.onlyKeys({"type", "pattern", "content"});
    return ReplaceStep{readPattern(object, "pattern"), object.text("content")};
  }
  if (type == "Strip") {
    object.onlyKeys({"type", "strip_left", "strip_right"});
    return TrimStep{object.boolean("strip_left", true), object.boolean("strip_right", true)};
  }
  object.refuse("type", type,
                "NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Prepend, Replace, Strip or one "
                "Sequence of them");
}

} // namespace

Normalizer readNormalizer(const Json &json) {
  Normalizer normalizer;
  forEachStage(json, "normalizer", "normalizers", [&](const Json &step, const std::string &where) {
    normalizer.add(readStep(step, where));
  });
  return normalizer;
}

} // namespace inf
