// How many prompt rows a step can take, from what earlier steps took.
#pragma once

#include <cstdint>

namespace inf {

struct StepCostOptions {
  double paceFactor = 3;   ///< a step that carries prompt rows beside generating streams may take
                           ///< this many times a step without
  double stepSeconds = 1;  ///< no step should take longer: a cancel waits for it
  uint32_t leastChunk = 8; ///< prompt rows a step takes whatever they cost, so that prompts end
};

/// Time of a step = a part without prompt rows + prompt rows * a row's part; both are means of the
/// latest steps, a step's weight falling by a fifth with each that follows.
class StepCosts {
public:
  explicit StepCosts(const StepCostOptions &costOptions) : options(costOptions) {}

  /// A step of so many rows took so long. Nonsense (negative, not finite) is ignored.
  void ran(uint32_t decodeRows, uint32_t promptRows, double seconds);
  /// Prompt rows for a step that has `decodeRows` already; at least leastChunk.
  uint32_t promptBudget(uint32_t decodeRows) const;

private:
  StepCostOptions options;
  double decodeSeconds = 0; ///< of a step without prompt rows; 0: not known
  double rowSeconds = 0;    ///< of a prompt row; 0: not known
};

} // namespace inf
