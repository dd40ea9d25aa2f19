// Stop strings in a stream of text whose pieces end anywhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace inf {

/// Holds text back exactly as long as it can still become a stop string.
class StopStrings {
public:
  /// Fails with Usage for an empty stop string.
  explicit StopStrings(std::vector<std::string> stops);

  /// Adds `text` and returns what can be shown now. Once a stop string is complete, what stood
  /// before it is returned, the stop string and all later text are dropped and `stopped()` is true.
  /// Where several are complete, the one that starts first counts.
  std::string push(std::string_view text);
  /// The end of the text: returns what was held back.
  std::string finish();
  bool stopped() const { return found; }

private:
  size_t firstMatch() const;    ///< where the first complete stop string starts, or npos
  size_t possibleStart() const; ///< where the longest tail starts that may become one

  std::vector<std::string> stops;
  std::string held;
  bool found = false;
};

} // namespace inf
