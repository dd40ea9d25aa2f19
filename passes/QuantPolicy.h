// What `--quant` says: a format for what the checkpoint holds in floats, and exceptions by name.
//
//   none                                      keep the checkpoint's formats
//   int8                                      matrices of products to int8
//   '*.attention.*=int4,lm_head=int8'         int8 (the default), attention to int4
//   'none,layers.0.*=bf16'                    all as stored, but layer 0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/abi/WeightFormats.h"

namespace inf {

/// `pattern=format`; of several that match a weight the last counts.
struct QuantRule {
  std::string pattern;                ///< `*` any characters, `?` one
  std::optional<WeightFormat> format; ///< nullopt ("none"): as stored
};

struct QuantPolicy {
  std::optional<WeightFormat> base; ///< nullopt ("none"): as stored
  std::vector<QuantRule> rules;
};

/// On an inf.weight: in words, what decided its format.
inline constexpr char formatFromAttrName[] = "inf.format_from";

/// int8 is the base when the text names none. Fails with Usage, naming the item.
QuantPolicy parseQuantPolicy(std::string_view text);

/// Whether the pattern stands for the weight: its name, with or without ".weight" at the end.
bool matchesWeight(std::string_view pattern, std::string_view name);

} // namespace inf
