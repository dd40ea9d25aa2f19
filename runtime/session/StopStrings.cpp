#include "runtime/session/StopStrings.h"

#include <algorithm>
#include <utility>

#include "runtime/base/Error.h"

namespace inf {

StopStrings::StopStrings(std::vector<std::string> strings) : stops(std::move(strings)) {
  for (const std::string &stop : stops)
    if (stop.empty())
      fail(ErrorCode::Usage,
           "a stop string is empty; expected at least one character. Leave it out "
           "to have none.");
}

size_t StopStrings::firstMatch() const {
  size_t first = std::string::npos;
  for (const std::string &stop : stops)
    first = std::min(first, held.find(stop));
  return first;
}

size_t StopStrings::possibleStart() const {
  size_t start = held.size();
  for (const std::string &stop : stops)
    for (size_t length = std::min(stop.size() - 1, held.size()); length > 0; --length)
      if (held.ends_with(std::string_view(stop).substr(0, length))) {
        start = std::min(start, held.size() - length);
        break; // shorter tails start later
      }
  return start;
}

std::string StopStrings::push(std::string_view text) {
  if (found)
    return {};
  held += text;
  size_t match = firstMatch();
  // An earlier start that is still open wins over a complete match that starts later.
  size_t open = possibleStart();
  if (match != std::string::npos && match <= open) {
    found = true;
    std::string shown = held.substr(0, match);
    held.clear();
    return shown;
  }
  size_t end = std::min(match, open);
  std::string shown = held.substr(0, end);
  held.erase(0, end);
  return shown;
}

std::string StopStrings::finish() {
  size_t match = found ? std::string::npos : firstMatch();
  if (match != std::string::npos) {
    found = true;
    held.resize(match);
  }
  return std::exchange(held, {});
}

} // namespace inf
