// What every stage of a model gives for a prompt: the outputs of ops at the barriers of a step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/cpu/ThreadPlan.h"
#include "runtime/loader/Model.h"

namespace inf {

/// One output of one stage, over all rows of the prompt.
struct TracePoint {
  std::string name;   ///< of the stage: "full/attention"; "#1", ... for further outputs of an op
  int64_t layer = -1; ///< -1: of no layer
  std::string type;   ///< as in memory: "f32", "q8", "bf16", "i32"
  uint64_t rows = 0, width = 0; ///< values a row
  uint64_t nans = 0, infinities = 0;
  double least = 0, most = 0, mean = 0; ///< of the finite values; 0 when there are none
  uint64_t hash = 0;                    ///< XXH3-64 of the bytes, row after row
  std::vector<float> values;            ///< [rows][width], when asked for
};

struct Trace {
  std::string model, target, numerics, buildId;
  std::vector<int32_t> tokens;
  std::vector<TracePoint> points; ///< in the order of the step

  /// The first point with a NaN, or else with an infinity; null when all is finite.
  const TracePoint *firstNotFinite() const;
};

struct TraceOptions {
  ThreadPlan threads;
  bool keepValues = false;
  uint64_t mostBytes = uint64_t{4} << 30; ///< of kept values
};

/// Runs `tokens` as one prompt; logits are those of its last token. Fails as Session::prefill does,
/// with BadInput for a model whose manifest has no stages, with TooLong when the values would take
/// more than `mostBytes`.
Trace traceModel(std::shared_ptr<const Model> model, std::span<const int32_t> tokens,
                 const TraceOptions &options);

/// A line for each point, and the first that is not finite.
std::string traceText(const Trace &trace);
std::string traceJson(const Trace &trace);

/// "layer 3, full/attention" or "lm_head".
std::string pointText(const TracePoint &point);

} // namespace inf
