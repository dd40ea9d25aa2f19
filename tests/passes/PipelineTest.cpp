// The pipeline is data: its names, their order and what may be left out are decided here too, so
// that a change shows.
#include "passes/Pipeline.h"

#include <filesystem>

#include "mlir/Pass/Pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inf {
namespace {

std::vector<std::string> names(bool optionalOnly) {
  std::vector<std::string> names;
  for (const PipelineStage &stage : pipelineStages())
    if (stage.optional || !optionalOnly)
      names.push_back(stage.name);
  return names;
}

TEST(Pipeline, StagesAreInTheOrderThatEachNeedsOfTheOnesBefore) {
  EXPECT_THAT(names(false),
              testing::ElementsAre("expand-moe", "quantize", "specialize-blocks",
                                   "quantize-activations", "fuse-qkv", "fuse-norm",
                                   "fuse-rope-append", "fuse-router", "fuse-epilogue",
                                   "fuse-quantize", "select-kernels", "verify-kernels", "partition",
                                   "plan-memory", "verify-plan", "lower-to-llvm"));
}

TEST(Pipeline, OnlyFusionsCanBeLeftOut) {
  EXPECT_THAT(names(true), testing::ElementsAre("fuse-qkv", "fuse-norm", "fuse-rope-append",
                                                "fuse-router", "fuse-epilogue", "fuse-quantize"));
}

TEST(Pipeline, EachStageHasALitTestOfItsName) {
  for (const PipelineStage &stage : pipelineStages())
    EXPECT_TRUE(std::filesystem::exists(INF_SOURCE_DIR "/tests/passes/" + stage.name + ".mlir"))
        << stage.name;
}

TEST(Pipeline, EachStageIsThePassOfItsName) {
  for (const PipelineStage &stage : pipelineStages())
    EXPECT_EQ(stage.create({})->getArgument().str(), "inf-" + stage.name);
}

} // namespace
} // namespace inf
