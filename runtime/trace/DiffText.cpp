#include <algorithm>

#include <fmt/format.h>

#include "runtime/trace/Diff.h"

namespace inf {
namespace {

std::string differenceText(const PointDifference &point) {
  const std::string types = point.a.type == point.b.type
                                ? point.a.type
                                : fmt::format("{} against {}", point.a.type, point.b.type);
  if (point.different == 0)
    return fmt::format("{} ({}): bits differ, values do not", pointText(point.a), types);
  return fmt::format("{} ({}): {} of {} values differ, by {:.3g} at most ({:.3g} of the largest); "
                     "first at row {}, column {}: {:.9g} against {:.9g}",
                     pointText(point.a), types, point.different, point.a.rows * point.a.width,
                     point.largest, point.relative, point.row, point.column, point.firstA,
                     point.firstB);
}

std::string missingText(const char *where, const std::vector<std::string> &names) {
  constexpr size_t shown = 3;
  if (names.empty())
    return "";
  return fmt::format("only in {}: {} ({}{})\n", where, names.size(),
                     fmt::join(names.begin(), names.begin() + std::min(shown, names.size()), "; "),
                     names.size() > shown ? "; ..." : "");
}

} // namespace

std::string diffText(const TraceDiff &diff, const Trace &a, const Trace &b) {
  std::string text = fmt::format("a: {}, target {}, {}\nb: {}, target {}, {}\n", a.model, a.target,
                                 a.numerics, b.model, b.target, b.numerics);
  text += missingText("a", diff.onlyInA) + missingText("b", diff.onlyInB);
  if (!diff.firstBits)
    return text + fmt::format("identical: {} outputs of stages, {} tokens, to the bit\n",
                              diff.points.size(), a.tokens.size());
  text += "first difference: " + differenceText(diff.points[*diff.firstBits]) + "\n";
  if (diff.firstAbove)
    text += fmt::format("first above {:g}: {}\n", diff.tolerance,
                        differenceText(diff.points[*diff.firstAbove]));
  else
    text += fmt::format("none above {:g}\n", diff.tolerance);
  const auto largest = std::max_element(
      diff.points.begin(), diff.points.end(),
      [](const auto &one, const auto &other) { return one.relative < other.relative; });
  text += "largest: " + differenceText(*largest) + "\n";
  const auto same = std::count_if(diff.points.begin(), diff.points.end(),
                                  [](const PointDifference &point) { return point.sameBits; });
  return text + fmt::format("{} of {} outputs of stages are the same to the bit\n", same,
                            diff.points.size());
}

} // namespace inf
