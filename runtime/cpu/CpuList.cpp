#include "runtime/cpu/CpuList.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/format.h>

namespace inf {
namespace {

std::string_view trim(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const size_t first = text.find_first_not_of(space);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}

std::optional<int> parseCpu(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value >= maxCpuCount)
    return std::nullopt;
  return value;
}

/// Appends "a" or "a-b"; false when it is neither.
bool appendRange(std::string_view text, CpuList &list) {
  const size_t dash = text.find('-');
  const std::optional<int> first = parseCpu(text.substr(0, dash));
  const std::optional<int> last =
      dash == std::string_view::npos ? first : parseCpu(text.substr(dash + 1));
  if (!first || !last || *last < *first)
    return false;
  for (int cpu = *first; cpu <= *last; ++cpu)
    list.push_back(cpu);
  return true;
}

} // namespace

std::optional<CpuList> parseCpuList(std::string_view text) {
  // Longer than any list of maxCpuCount numbers, so repeats cannot fill memory either.
  constexpr size_t maxText = size_t{maxCpuCount} * 6;
  CpuList list;
  text = trim(text);
  if (text.size() > maxText)
    return std::nullopt;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    if (!appendRange(trim(text.substr(0, comma)), list) || list.size() > size_t{maxCpuCount} * 4)
      return std::nullopt;
    if (comma == std::string_view::npos)
      break;
    text.remove_prefix(comma + 1);
    if (text.empty())
      return std::nullopt;
  }
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

std::string formatCpuList(std::span<const int> cpus) {
  if (cpus.empty())
    return "none";
  std::string text;
  for (size_t i = 0; i < cpus.size();) {
    size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1)
      ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", cpus[i]);
    if (end - i > 1)
      text += fmt::format("-{}", cpus[end - 1]);
    i = end;
  }
  return text;
}

bool contains(const CpuList &list, int cpu) {
  return std::binary_search(list.begin(), list.end(), cpu);
}

CpuList intersect(const CpuList &a, const CpuList &b) {
  CpuList both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

} // namespace inf
