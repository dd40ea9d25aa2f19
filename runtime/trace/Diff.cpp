#include "runtime/trace/Diff.h"

#include <cmath>
#include <limits>
#include <map>

#include "runtime/base/Error.h"

namespace inf {
namespace {

/// "3 attention 0": layer, op, how many of that name came before.
std::vector<std::string> keysOf(const std::vector<TracePoint> &points) {
  std::map<std::string, int> seen;
  std::vector<std::string> keys;
  for (const TracePoint &point : points) {
    const std::string name =
        fmt::format("{} {}", point.layer, point.name.substr(point.name.find('/') + 1));
    keys.push_back(fmt::format("{} {}", name, seen[name]++));
  }
  return keys;
}

bool equalValues(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

double distance(float a, float b) {
  if (equalValues(a, b))
    return 0;
  const double difference = std::abs(double(a) - double(b));
  return std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity();
}

void compareValues(PointDifference &difference, const std::vector<float> &a,
                   const std::vector<float> &b, uint64_t width) {
  double scale = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(a[i]))
      scale = std::max(scale, std::abs(double(a[i])));
    if (equalValues(a[i], b[i]))
      continue;
    if (difference.different++ == 0) {
      difference.row = i / width;
      difference.column = i % width;
      difference.firstA = a[i];
      difference.firstB = b[i];
    }
    difference.largest = std::max(difference.largest, distance(a[i], b[i]));
  }
  if (difference.largest != 0)
    difference.relative =
        scale != 0 ? difference.largest / scale : std::numeric_limits<double>::infinity();
}

PointDifference compare(TracePoint &a, TracePoint &b) {
  if (a.rows != b.rows || a.width != b.width || a.values.size() != b.values.size())
    fail(ErrorCode::BadInput,
         "{} is {} x {} in the first model and {} x {} in the second: these are not builds of one "
         "model. Compare two compiles of the same input.",
         pointText(a), a.rows, a.width, b.rows, b.width);
  PointDifference difference;
  const std::vector<float> left = std::move(a.values), right = std::move(b.values);
  difference.sameBits = a.hash == b.hash && a.type == b.type;
  compareValues(difference, left, right, a.width);
  a.values.clear();
  b.values.clear();
  difference.a = a;
  difference.b = b;
  return difference;
}

} // namespace

TraceDiff diffTraces(Trace &a, Trace &b, double tolerance) {
  if (a.tokens != b.tokens)
    fail(ErrorCode::BadInput,
         "the two models make different tokens of the prompt: their tokenizers "
         "differ. Give --ids.");
  TraceDiff diff;
  diff.tolerance = tolerance;
  const std::vector<std::string> keysA = keysOf(a.points), keysB = keysOf(b.points);
  std::map<std::string, size_t> placesB;
  for (size_t i = 0; i < keysB.size(); ++i)
    placesB[keysB[i]] = i;
  for (size_t i = 0; i < keysA.size(); ++i) {
    const auto partner = placesB.find(keysA[i]);
    if (partner == placesB.end()) {
      diff.onlyInA.push_back(pointText(a.points[i]));
      continue;
    }
    diff.points.push_back(compare(a.points[i], b.points[partner->second]));
    placesB.erase(partner);
    const PointDifference &point = diff.points.back();
    if (!point.sameBits && !diff.firstBits)
      diff.firstBits = diff.points.size() - 1;
    if (point.relative > tolerance && !diff.firstAbove)
      diff.firstAbove = diff.points.size() - 1;
  }
  for (size_t i = 0; i < keysB.size(); ++i)
    if (placesB.count(keysB[i]))
      diff.onlyInB.push_back(pointText(b.points[i]));
  return diff;
}

} // namespace inf
