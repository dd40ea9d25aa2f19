// Where two builds of one model part.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/trace/Trace.h"

namespace inf {

/// One point that both builds have. Differences are of values, whatever the types in memory.
struct PointDifference {
  TracePoint a, b; ///< without values
  bool sameBits = false;
  uint64_t different = 0;        ///< values that are not equal (NaN equals NaN)
  double largest = 0;            ///< of |a - b|; infinite where just one of them is finite
  double relative = 0;           ///< largest over the largest |a| of the point
  uint64_t row = 0, column = 0;  ///< where values first differ
  double firstA = 0, firstB = 0; ///< there
};

struct TraceDiff {
  std::vector<PointDifference> points;       ///< in the order of a
  std::vector<std::string> onlyInA, onlyInB; ///< points without a partner (other fusions)
  std::optional<size_t> firstBits;           ///< the first that is not the same to the bit
  std::optional<size_t> firstAbove;          ///< the first with `relative` above the tolerance
  double tolerance = 0;
};

/// Points are matched by layer, by name without the block's (which depends on formats), and by
/// count where several have one name. Fails with BadInput when the traces are not of the same
/// tokens, or matched points have other shapes: then these are not builds of one model. Takes the
/// values out of both.
TraceDiff diffTraces(Trace &a, Trace &b, double tolerance);

/// What differs, first to last, in a few lines.
std::string diffText(const TraceDiff &diff, const Trace &a, const Trace &b);
/// All points; `first_difference` and `first_above` are indices of them, or null. What is infinite
/// is null.
std::string diffJson(const TraceDiff &diff, const Trace &a, const Trace &b);

} // namespace inf
