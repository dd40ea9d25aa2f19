#include "runtime/scheduler/StepCosts.h"

#include <algorithm>
#include <cmath>

namespace inf {
namespace {

constexpr double newest = 0.2; // the weight of the latest step

void blend(double &mean, double value) {
  mean = mean == 0 ? value : mean + newest * (value - mean);
}

} // namespace

void StepCosts::ran(uint32_t decodeRows, uint32_t promptRows, double seconds) {
  if (!std::isfinite(seconds) || seconds <= 0)
    return;
  if (promptRows == 0) {
    blend(decodeSeconds, seconds);
    return;
  }
  // Streams that never run without a prompt beside them: a guess until they do.
  if (decodeRows != 0 && decodeSeconds == 0)
    decodeSeconds = std::max(seconds - rowSeconds * promptRows, seconds / 2);
  double base = decodeRows == 0 ? 0 : decodeSeconds;
  // Never 0: that would read as "not known".
  blend(rowSeconds, std::max(seconds - base, seconds * 0.01) / promptRows);
}

uint32_t StepCosts::promptBudget(uint32_t decodeRows) const {
  double time = options.stepSeconds;
  if (decodeRows != 0) {
    if (decodeSeconds == 0 || rowSeconds == 0)
      return options.leastChunk; // the first steps measure
    time = std::min(time, options.paceFactor * decodeSeconds) - decodeSeconds;
  }
  if (rowSeconds == 0)
    return UINT32_MAX; // nobody waits, and nothing was measured yet
  double rows = std::clamp<double>(time / rowSeconds, options.leastChunk, UINT32_MAX);
  return static_cast<uint32_t>(rows);
}

} // namespace inf
