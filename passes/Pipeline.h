// The pipeline as a list: the one place that knows the order of the passes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mlir/Pass/PassManager.h"

#include "passes/StepRows.h"

namespace inf {

struct PipelineOptions {
  std::string quantPolicy = "none"; ///< passes/QuantPolicy.h
  std::string activations =
      "f32"; ///< of products of block formats: "q8", "mxint8" or "f32"; "bf16"
  std::string target = "avx2";
  int64_t maxRows = defaultMaxRows, maxOutputRows = defaultMaxOutputRows;
};

struct PipelineStage {
  std::string name; ///< the pass's flag without "inf-": "fuse-qkv"
  bool optional;    ///< may be switched off
  std::function<std::unique_ptr<mlir::Pass>(const PipelineOptions &)> create;
};

/// All stages after "import", in order.
const std::vector<PipelineStage> &pipelineStages();

/// Name of the first stage: the IR as a frontend makes it.
inline constexpr char importStage[] = "import";

} // namespace inf
