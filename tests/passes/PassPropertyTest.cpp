// Whatever a pass does to the IR, the reference interpreter computes the same from it. Random
// models of several shapes and the trained one; each stage of the pipeline in turn, and the
// pipeline with each optional stage left out. To repeat a failure: run the test by its name; seeds
// are fixed.
#include <cmath>
#include <filesystem>
#include <functional>

#include <gtest/gtest.h>

#include "compiler/driver/Stages.h"
#include "passes/Pipeline.h"
#include "tests/passes/Tolerances.h"
#include "tests/support/ReferenceModel.h"
#include "tests/support/SmallModels.h"

namespace inf::test {
namespace {

constexpr uint64_t seed = 20240805;
constexpr char lastPlannedStage[] = "verify-plan";

struct Subject {
  std::string name;
  std::function<ReferenceModel(const ReferenceOptions &)> make;
  int32_t vocabulary;
  double moved = residualFirst; ///< what an operation that moves may change
};
void PrintTo(const Subject &subject, std::ostream *out) { *out << subject.name; }

Subject randomModel(const std::string &name, const ModelDesc &desc) {
  return {name,
          [desc](const ReferenceOptions &options) {
            return ReferenceModel::random(desc, seed, options);
          },
          int32_t(desc.vocabulary)};
}

/// The same with weights and activations rounded. Stages before the last of rounding change what is
/// computed, and are meant to.
Subject quantizedModel(const std::string &name, const ModelDesc &desc, const std::string &quant,
                       const std::string &activations = "") {
  return {name,
          [desc, quant, activations](ReferenceOptions options) {
            options.quant = quant;
            if (!activations.empty())
              options.activations = activations;
            ReferenceModel model = ReferenceModel::random(desc, seed, options);
            model.runTo("quantize-activations");
            return model;
          },
          int32_t(desc.vocabulary), anotherStep};
}

/// q, k and v stored in three formats: joined, they meet in f32, which must not change them.
ModelDesc mixedFormats() {
  ModelDesc desc = denseModel();
  storeAs(desc, "attention.q.weight", WeightFormat::BF16);
  storeAs(desc, "attention.k.weight", WeightFormat::F16);
  return desc;
}

std::vector<Subject> subjects() {
  return {randomModel("Dense", denseModel()),
          randomModel("GptOssLike", gptOssLikeModel()),
          randomModel("Uneven", unevenModel()),
          randomModel("QwenLike", qwenLikeModel()),
          randomModel("MixedFormats", mixedFormats()),
          quantizedModel("DenseInInt8", denseModel(), "int8"),
          quantizedModel("QueriesInInt4", denseModel(), "int8,*.attention.q=int4"),
          quantizedModel("GptOssLikeInInt4a", gptOssLikeModel(), "int4a"),
          quantizedModel("UnevenInBf16", unevenModel(), "bf16", "bf16"),
          {"GptOssTiny",
           [](const ReferenceOptions &options) {
             return ReferenceModel::fromCheckpoint(INF_SOURCE_DIR "/models/gpt-oss-tiny", options);
           },
           4096}};
}

/// 20 tokens: beyond both small windows (5 and 8), so that keys fall out of them.
ir::ReferenceResult evaluate(ReferenceModel &model, int32_t vocabulary) {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 20; ++i)
    tokens.push_back((i * 37 + 11) % vocabulary);
  return model.run(tokens, {0, 9, 19});
}

/// The largest difference relative to the largest value.
double distance(const ir::ReferenceTensor &a, const ir::ReferenceTensor &b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.values.size(), b.values.size());
  double largest = 0, difference = 0;
  for (size_t i = 0; i < a.values.size() && i < b.values.size(); ++i) {
    EXPECT_TRUE(std::isfinite(a.values[i]));
    largest = std::max(largest, double(std::abs(a.values[i])));
    difference = std::max(difference, std::abs(double(a.values[i]) - b.values[i]));
  }
  EXPECT_GT(largest, 0) << "nothing was computed";
  return difference / largest;
}

void expectSame(const ir::ReferenceResult &a, const ir::ReferenceResult &b, double tolerance) {
  EXPECT_LE(distance(a.hidden, b.hidden), tolerance) << "hidden";
  EXPECT_LE(distance(a.logits, b.logits), tolerance) << "logits";
  ASSERT_EQ(a.layers.size(), b.layers.size());
  for (size_t i = 0; i < a.layers.size(); ++i)
    EXPECT_LE(distance(a.layers[i], b.layers[i]), tolerance) << "before layer " << i;
}

/// Only where the expert sum takes up the residual does an operation move.
double toleranceOf(const Subject &subject, const std::string &stage) {
  return stage == "fuse-epilogue" ? subject.moved : unchanged;
}

class PassProperty : public testing::TestWithParam<Subject> {};

TEST_P(PassProperty, EveryStageKeepsTheOutputs) {
  const Subject &subject = GetParam();
  ReferenceModel model = subject.make({});
  ir::ReferenceResult before = evaluate(model, subject.vocabulary);
  for (const PipelineStage &stage : pipelineStages()) {
    if (isPast(model.model(), stage.name))
      continue;
    SCOPED_TRACE(stage.name + ", weights of seed " + std::to_string(seed));
    model.runTo(stage.name);
    ir::ReferenceResult after = evaluate(model, subject.vocabulary);
    expectSame(before, after, toleranceOf(subject, stage.name));
    before = std::move(after);
    if (stage.name == lastPlannedStage)
      break;
  }
}

TEST_P(PassProperty, AnyOptionalStageCanBeLeftOut) {
  const Subject &subject = GetParam();
  ReferenceModel imported = subject.make({});
  ir::ReferenceResult expected = evaluate(imported, subject.vocabulary);
  std::set<std::string> all;
  std::vector<std::set<std::string>> choices;
  for (const PipelineStage &stage : pipelineStages())
    if (stage.optional) {
      choices.push_back({stage.name});
      all.insert(stage.name);
    }
  choices.push_back(all);
  for (const std::set<std::string> &without : choices) {
    SCOPED_TRACE("without " + *without.begin() + (without.size() > 1 ? " and all others" : ""));
    ReferenceOptions options;
    options.without = without;
    ReferenceModel model = subject.make(options);
    model.runTo(lastPlannedStage);
    expectSame(expected, evaluate(model, subject.vocabulary), subject.moved);
  }
}

TEST_P(PassProperty, TextBetweenAnyTwoStagesIsTheWholeModel) {
  // What --save-ir wrote can be compiled on: print and parse lose nothing that later stages read.
  const Subject &subject = GetParam();
  ReferenceModel straight = subject.make({});
  ReferenceModel resumed = subject.make({});
  for (const PipelineStage &stage : pipelineStages()) {
    straight.runTo(stage.name);
    resumed = ReferenceModel::parse(resumed.text(), nullptr);
    resumed.runTo(stage.name);
    ASSERT_EQ(straight.text(), resumed.text()) << stage.name;
    if (stage.name == lastPlannedStage)
      break;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, PassProperty, testing::ValuesIn(subjects()),
                         [](const auto &subject) { return subject.param.name; });

} // namespace
} // namespace inf::test
