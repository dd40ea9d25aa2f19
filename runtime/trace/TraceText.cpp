#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/trace/Trace.h"

namespace inf {
namespace {

std::string verdict(const Trace &trace) {
  const TracePoint *point = trace.firstNotFinite();
  if (!point)
    return "all values are finite\n";
  return fmt::format("first {} in {}: {} NaN and {} infinities among {} values\n",
                     point->nans ? "NaN" : "infinity", pointText(*point), point->nans,
                     point->infinities, point->rows * point->width);
}

} // namespace

std::string traceText(const Trace &trace) {
  std::string text = fmt::format(
      "{}, target {}, {}; {} tokens\n{:>5}  {:40} {:4} {:>14} {:>12} {:>12} {:>12} {:>6}  "
      "{}\n",
      trace.model, trace.target, trace.numerics, trace.tokens.size(), "layer", "stage", "type",
      "rows x width", "min", "max", "mean", "NaN", "hash");
  for (const TracePoint &point : trace.points)
    text += fmt::format("{:>5}  {:40} {:4} {:>14} {:>12.5g} {:>12.5g} {:>12.5g} {:>6}  {:016x}\n",
                        point.layer < 0 ? "-" : std::to_string(point.layer), point.name, point.type,
                        fmt::format("{} x {}", point.rows, point.width), point.least, point.most,
                        point.mean, point.nans, point.hash);
  return text + verdict(trace);
}

std::string traceJson(const Trace &trace) {
  nlohmann::ordered_json json = {{"model", trace.model},
                                 {"build_id", trace.buildId},
                                 {"target", trace.target},
                                 {"numerics", trace.numerics},
                                 {"tokens", trace.tokens},
                                 {"first_not_finite", nullptr},
                                 {"points", nlohmann::ordered_json::array()}};
  if (const TracePoint *point = trace.firstNotFinite())
    json["first_not_finite"] = {{"layer", point->layer}, {"name", point->name}};
  for (const TracePoint &point : trace.points)
    json["points"].push_back({{"layer", point.layer},
                              {"name", point.name},
                              {"type", point.type},
                              {"rows", point.rows},
                              {"width", point.width},
                              {"min", point.least},
                              {"max", point.most},
                              {"mean", point.mean},
                              {"nan", point.nans},
                              {"infinite", point.infinities},
                              {"hash", fmt::format("{:016x}", point.hash)}});
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

} // namespace inf
