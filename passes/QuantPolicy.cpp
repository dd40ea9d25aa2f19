#include "passes/QuantPolicy.h"

#include <array>

#include "runtime/base/Error.h"

namespace inf {
namespace {

/// Glob over the whole text. Going back to the last star alone is enough: whatever an earlier one
/// could take, the last can take as well.
bool matchesGlob(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::optional<WeightFormat> baseByName(std::string_view name) {
  using enum WeightFormat;
  for (WeightFormat format : {BF16, INT8, INT4, INT4A})
    if (weightFormatName(format) == name)
      return format;
  return std::nullopt;
}

QuantRule parseRule(std::string_view item) {
  const size_t equals = item.rfind('=');
  const std::string_view pattern = item.substr(0, equals), name = item.substr(equals + 1);
  const std::optional<WeightFormat> format = weightFormatByName(name);
  // mxfp4 is what a checkpoint has or has not: nothing is converted to it.
  if (pattern.empty() || (!format && name != "none") || format == WeightFormat::MXFP4)
    fail(
        ErrorCode::Usage,
        "--quant: \"{}\" is no rule, expected PATTERN=FORMAT with none, f32, f16, bf16, int8, int4 "
        "or int4a, such as *.attention.*=int4",
        item);
  return {std::string(pattern), format};
}

} // namespace

QuantPolicy parseQuantPolicy(std::string_view text) {
  QuantPolicy policy;
  bool hasBase = false;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    begin = end + 1;
    if (item.find('=') != std::string_view::npos) {
      policy.rules.push_back(parseRule(item));
      continue;
    }
    policy.base = baseByName(item);
    if (hasBase || (!policy.base && item != "none"))
      fail(ErrorCode::Usage,
           "--quant: found \"{}\" in \"{}\", expected one of none, bf16, int8, int4, int4a and any "
           "number of PATTERN=FORMAT, separated by commas",
           item, text);
    hasBase = true;
  }
  if (!hasBase)
    policy.base = WeightFormat::INT8;
  return policy;
}

bool matchesWeight(std::string_view pattern, std::string_view name) {
  constexpr std::string_view suffix = ".weight";
  return matchesGlob(pattern, name) ||
         (name.ends_with(suffix) &&
          matchesGlob(pattern, name.substr(0, name.size() - suffix.size())));
}

} // namespace inf
