#include "runtime/trace/Trace.h"

#include <algorithm>
#include <cmath>
#include <exception>

#include "runtime/base/Error.h"
#include "runtime/format/Checksum.h"
#include "runtime/session/Session.h"
#include "runtime/trace/StageReader.h"

namespace inf {
namespace {

/// A point while steps add to it.
struct Gathering {
  StageOutput output;
  TracePoint point;
  StreamChecksum checksum;
  double sum = 0;
  uint64_t finite = 0;

  void add(std::span<const uint8_t> bytes, std::span<const float> values, bool keep) {
    checksum.add(bytes);
    for (const float value : values)
      addValue(value);
    if (keep)
      point.values.insert(point.values.end(), values.begin(), values.end());
  }
  void addValue(double value) {
    if (!std::isfinite(value)) {
      ++(std::isnan(value) ? point.nans : point.infinities);
      return;
    }
    point.least = finite ? std::min(point.least, value) : value;
    point.most = finite ? std::max(point.most, value) : value;
    sum += value;
    ++finite;
  }
  TracePoint done() {
    point.mean = finite ? sum / double(finite) : 0;
    point.hash = checksum.value();
    return std::move(point);
  }
};

class Tracer {
public:
  Tracer(const Model &model, const TraceOptions &traceOptions)
      : options(traceOptions), logitsStride(model.code().logits_stride) {
    for (const Stage &stage : model.manifest().stages)
      addStage(stage);
    if (stages.empty())
      fail(ErrorCode::BadInput, "'{}' does not name its stages. Compile it again.", model.path());
  }

  BarrierHook hook() {
    BarrierHook hook;
    hook.state = this;
    hook.complete = [](void *self, const inf_step &step) {
      static_cast<Tracer *>(self)->complete(step);
    };
    return hook;
  }
  /// Between two steps.
  void next() {
    if (error)
      std::rethrow_exception(error);
    if (at != stages.size())
      fail(ErrorCode::BadInput, "a step had {} stages, the manifest names {}. Compile it again.",
           at, stages.size());
    at = 0;
  }
  std::vector<TracePoint> points() {
    std::vector<TracePoint> points;
    for (std::vector<Gathering> &stage : stages)
      for (Gathering &gathering : stage)
        points.push_back(gathering.done());
    return points;
  }

private:
  void addStage(const Stage &stage) {
    std::vector<Gathering> &outputs = stages.emplace_back(stage.outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      outputs[i].output = stage.outputs[i];
      TracePoint &point = outputs[i].point;
      point.name = i == 0 ? stage.name : fmt::format("{}#{}", stage.name, i);
      point.layer = stage.layer;
      point.type = stage.outputs[i].type;
      point.width = stage.outputs[i].vectors * stage.outputs[i].features;
    }
  }

  /// Within the compiled step, which no exception may pass.
  void complete(const inf_step &step) {
    try {
      if (at < stages.size() && !error)
        for (Gathering &gathering : stages[at])
          gather(gathering, step);
    } catch (...) {
      error = std::current_exception();
    }
    ++at;
  }

  void gather(Gathering &gathering, const inf_step &step) {
    const uint64_t rows = stageRows(gathering.output, step);
    if (options.keepValues) {
      kept += rows * gathering.point.width * sizeof(float);
      if (kept > options.mostBytes)
        fail(ErrorCode::TooLong,
             "the outputs of all stages take more than {:.1f} GB for this "
             "prompt. Give a shorter one.",
             double(options.mostBytes) / 1e9);
    }
    gathering.point.rows += rows;
    readStageOutput(gathering.output, step, logitsStride, [&](auto bytes, auto values) {
      gathering.add(bytes, values, options.keepValues);
    });
  }

  const TraceOptions &options;
  uint32_t logitsStride;
  std::vector<std::vector<Gathering>> stages; ///< outputs of each
  size_t at = 0;                              ///< the stage that ends next
  uint64_t kept = 0;                          ///< bytes
  std::exception_ptr error;
};

} // namespace

const TracePoint *Trace::firstNotFinite() const {
  for (uint64_t TracePoint::*count : {&TracePoint::nans, &TracePoint::infinities})
    for (const TracePoint &point : points)
      if (point.*count != 0)
        return &point;
  return nullptr;
}

std::string pointText(const TracePoint &point) {
  return point.layer < 0 ? point.name : fmt::format("layer {}, {}", point.layer, point.name);
}

Trace traceModel(std::shared_ptr<const Model> model, std::span<const int32_t> tokens,
                 const TraceOptions &options) {
  Tracer tracer(*model, options);
  SessionOptions sessionOptions;
  sessionOptions.context =
      static_cast<uint32_t>(std::clamp<uint64_t>(tokens.size(), 1, model->code().max_context));
  sessionOptions.threads = options.threads;
  sessionOptions.barrierHook = tracer.hook();
  Session session(model, sessionOptions);
  session.requireRoom(0, tokens.size());
  for (size_t begin = 0; begin < tokens.size(); begin += session.maxRows()) {
    std::vector<RowRequest> rows;
    for (size_t i = begin; i < std::min(tokens.size(), begin + session.maxRows()); ++i)
      rows.push_back(
          {tokens[i], 0, INF_ROW_PROMPT,
           i + 1 == tokens.size() ? uint8_t{INF_OUTPUT_LOGITS} : uint8_t{INF_OUTPUT_NONE}});
    session.step(rows);
    tracer.next();
  }
  const Manifest &manifest = model->manifest();
  return {model->path(),
          manifest.target,
          manifest.numerics,
          fmt::format("{:016x}{:016x}", model->code().build_id[1], model->code().build_id[0]),
          {tokens.begin(), tokens.end()},
          tracer.points()};
}

} // namespace inf
