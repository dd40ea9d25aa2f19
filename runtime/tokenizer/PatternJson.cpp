#include "runtime/tokenizer/PatternJson.h"

namespace inf {

TextPattern readPattern(const FieldReader &object, const char *key) {
  FieldReader pattern(object.need(key), object.path(key));
  if (pattern.get("String")) {
    pattern.onlyKeys({"String"});
    return TextPattern::literal(pattern.text("String"));
  }
  pattern.onlyKeys({"Regex"});
  return TextPattern::regex(pattern.text("Regex"));
}

} // namespace inf
