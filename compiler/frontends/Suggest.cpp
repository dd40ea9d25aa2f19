#include "compiler/frontends/Suggest.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace inf {
namespace {

constexpr size_t shownBytes = 60;

/// Levenshtein distance; both texts are short.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

} // namespace

std::string quoteShort(std::string_view text) {
  bool cut = text.size() > shownBytes;
  nlohmann::json shown = std::string(text.substr(0, shownBytes)) + (cut ? "..." : "");
  return shown.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string suggestion(std::string_view name, const std::vector<std::string> &candidates) {
  // A longer name is no typing error, and the distance costs its length.
  if (name.size() > 2 * shownBytes)
    return "";
  std::string_view best;
  size_t bestDistance = std::max<size_t>(2, name.size() / 3) + 1;
  for (const std::string &candidate : candidates) {
    size_t distance = editDistance(name, candidate);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", best);
}

std::string firstNames(const std::vector<std::string> &names, size_t limit) {
  size_t shown = std::min(limit, names.size());
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<long>(shown), ", "));
  if (shown < names.size())
    text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

} // namespace inf
