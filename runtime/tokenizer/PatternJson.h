// The "pattern" of a Split or a Replace in tokenizer.json.
#pragma once

#include <string>

#include <fmt/format.h>

#include "runtime/tokenizer/JsonFields.h"
#include "runtime/tokenizer/TextPattern.h"

namespace inf {

/// {"String": …} or {"Regex": …} under `key`. Fails with BadInput as SplitPattern does.
TextPattern readPattern(const FieldReader &object, const char *key);

/// Calls `stage(json, where)` for `json`, or for each entry of the list `listKey` if it is a
/// Sequence; these may not be Sequences again. At most 16 in all: no known file has more than 8.
template <typename Stage>
void forEachStage(const Json &json, const char *where, const char *listKey, Stage &&stage) {
  FieldReader object(json, where);
  if (object.text("type") != "Sequence")
    return stage(json, std::string(where));
  object.onlyKeys({"type", listKey});
  const Json &list = object.array(listKey, 16);
  for (size_t i = 0; i < list.size(); ++i)
    stage(list[i], fmt::format("{}[{}]", object.path(listKey), i));
}

} // namespace inf
