#include <nlohmann/json.hpp>

#include "runtime/trace/Diff.h"

namespace inf {
namespace {

using Json = nlohmann::ordered_json;

Json toJson(const PointDifference &point) {
  return {{"layer", point.a.layer},
          {"name", point.a.name},
          {"name_b", point.b.name},
          {"type", point.a.type},
          {"type_b", point.b.type},
          {"rows", point.a.rows},
          {"width", point.a.width},
          {"same_bits", point.sameBits},
          {"different", point.different},
          {"largest", point.largest},
          {"relative", point.relative},
          {"first", point.different == 0 ? Json()
                                         : Json{{"row", point.row},
                                                {"column", point.column},
                                                {"a", point.firstA},
                                                {"b", point.firstB}}}};
}

Json toJson(const Trace &trace) {
  return {{"model", trace.model},
          {"build_id", trace.buildId},
          {"target", trace.target},
          {"numerics", trace.numerics}};
}

Json indexOf(const std::optional<size_t> &point) { return point ? Json(*point) : Json(); }

} // namespace

std::string diffJson(const TraceDiff &diff, const Trace &a, const Trace &b) {
  Json points = Json::array();
  for (const PointDifference &point : diff.points)
    points.push_back(toJson(point));
  const Json json = {{"a", toJson(a)},
                     {"b", toJson(b)},
                     {"tokens", a.tokens},
                     {"tolerance", diff.tolerance},
                     {"first_difference", indexOf(diff.firstBits)},
                     {"first_above", indexOf(diff.firstAbove)},
                     {"only_in_a", diff.onlyInA},
                     {"only_in_b", diff.onlyInB},
                     {"points", points}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

} // namespace inf
