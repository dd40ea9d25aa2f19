#include "passes/Pipeline.h"

#include "passes/Passes.h"

namespace inf {

const std::vector<PipelineStage> &pipelineStages() {
  using Options = PipelineOptions;
  static const std::vector<PipelineStage> stages = {
      {"expand-moe", false, [](const Options &) { return createExpandMoe(); }},
      {"quantize", false,
       [](const Options &options) {
         return createQuantize(QuantizeOptions{options.quantPolicy, options.activations});
       }},
      {"specialize-blocks", false, [](const Options &) { return createSpecializeBlocks(); }},
      {"quantize-activations", false, [](const Options &) { return createQuantizeActivations(); }},
      {"fuse-qkv", true, [](const Options &) { return createFuseQkv(); }},
      {"fuse-norm", true, [](const Options &) { return createFuseNorm(); }},
      {"fuse-rope-append", true, [](const Options &) { return createFuseRopeAppend(); }},
      {"fuse-router", true, [](const Options &) { return createFuseRouter(); }},
      {"fuse-epilogue", true, [](const Options &) { return createFuseEpilogue(); }},
      {"fuse-quantize", true, [](const Options &) { return createFuseQuantize(); }},
      {"select-kernels", false,
       [](const Options &options) {
         return createSelectKernels(SelectKernelsOptions{options.target});
       }},
      {"verify-kernels", false, [](const Options &) { return createVerifyKernels(); }},
      {"partition", false, [](const Options &) { return createPartition(); }},
      {"plan-memory", false,
       [](const Options &options) {
         return createPlanMemory(PlanMemoryOptions{options.maxRows, options.maxOutputRows});
       }},
      {"verify-plan", false, [](const Options &) { return createVerifyPlan(); }},
      {"lower-to-llvm", false, [](const Options &) { return createLowerToLLVM(); }},
  };
  return stages;
}

} // namespace inf
