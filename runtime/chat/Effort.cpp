#include "runtime/chat/Effort.h"

namespace inf {
namespace {

constexpr std::pair<std::string_view, ReasoningEffort> efforts[] = {
    {"low", ReasoningEffort::Low},
    {"medium", ReasoningEffort::Medium},
    {"high", ReasoningEffort::High}};

} // namespace

std::string_view effortName(ReasoningEffort effort) {
  for (auto [name, value] : efforts)
    if (value == effort)
      return name;
  return "medium";
}

std::optional<ReasoningEffort> effortNamed(std::string_view name) {
  for (auto [known, value] : efforts)
    if (known == name)
      return value;
  return std::nullopt;
}

} // namespace inf
