// Compiled models against ir/reference, beyond what the golden files hold.
#include <gtest/gtest.h>

#include "tests/e2e/Golden.h"
#include "tests/e2e/Models.h"
#include "tests/e2e/Sessions.h"
#include "tests/e2e/Tolerances.h"
#include "tests/runtime/format/TestSupport.h"
#include "tests/support/ReferenceModel.h"
#include "tests/support/SmallModels.h"

using namespace inf;
using namespace inf::test;

namespace {

class Reference : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override { SKIP_UNLESS_RUNS(GetParam()); }
};

/// Lengths at which a window or a block begins or ends. A context of n tokens ends at position
/// n - 1.
const std::vector<int64_t> positions = {126, 127, 128, 129, 407, 1099};

void expectContextsMatch(const char *target, const std::string &kv, double tolerance) {
  const std::vector<int32_t> ids = heldoutIds(1100);
  ReferenceOptions options;
  options.kvElement = kv;
  const auto reference = ReferenceModel::fromCheckpoint(tinyModel, options).run(ids, positions);
  SessionSetup setup;
  setup.context = 1100;
  const AllLogits logits = soloLogits(
      compiled(tinyModel, {std::string("--target=") + target, "--kv=" + kv}), ids, setup);
  for (size_t i = 0; i < positions.size(); ++i) {
    const std::span<const float> expected(reference.logits.row(int64_t(i)), 4096);
    const double difference = largestDifference(row(logits, size_t(positions[i]), 4096), expected);
    EXPECT_LT(difference, tolerance) << "context of " << positions[i] + 1;
    RecordProperty("context" + std::to_string(positions[i] + 1), std::to_string(difference));
  }
}

/// A description with random weights, compiled from its model.json.
void expectRandomModelMatches(const ModelDesc &desc, const char *target) {
  SCOPED_TRACE(desc.name);
  constexpr uint64_t seed = 7;
  const TempFolder folder;
  writeBytes(folder / "model.json", writeModelJson(desc, folder.path.string()));
  std::vector<int32_t> ids;
  std::vector<int64_t> all;
  for (int64_t i = 0; i < 150; ++i) { // beyond two blocks of KV
    ids.push_back(int32_t(uint64_t(i * i * 31 + i * 7) % desc.vocabulary));
    all.push_back(i);
  }
  const auto reference = ReferenceModel::random(desc, seed).run(ids, all);
  SessionSetup setup;
  setup.context = uint32_t(desc.maxContext);
  setup.threads = 2;
  const AllLogits logits =
      soloLogits(compiled(folder / "model.json", {std::string("--target=") + target, "--kv=f32",
                                                  "--weights=random:" + std::to_string(seed)}),
                 ids, setup);
  EXPECT_LT(largestDifference(logits, reference.logits.values), goldenLogits);
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Targets, Reference, testing::Values("avx2", "avx512"), nameOfTarget);

TEST_P(Reference, contextsAroundWindowsAndBlocksWithKvInF32) {
  SKIP_WITHOUT_SHARED();
  expectContextsMatch(GetParam(), "f32", goldenLogits);
}

TEST_P(Reference, contextsAroundWindowsAndBlocksWithKvInBf16) {
  SKIP_WITHOUT_SHARED();
  expectContextsMatch(GetParam(), "bf16", bf16KvLogits);
}

TEST_P(Reference, aDenseModelWithTiedEmbeddings) {
  expectRandomModelMatches(denseModel(), GetParam());
}

TEST_P(Reference, expertsInMxfp4WithAShortWindow) {
  expectRandomModelMatches(gptOssLikeModel(), GetParam());
}

TEST_P(Reference, sizesThatFillNoVectorAndNoPanel) {
  expectRandomModelMatches(unevenModel(), GetParam());
}

TEST_P(Reference, weightsInF16) {
  ModelDesc desc = denseModel();
  for (const char *weight : {"attention.q.weight", "attention.o.weight", "mlp.gate_up.weight",
                             "mlp.down.weight", "embedding.weight"})
    storeAs(desc, weight, WeightFormat::F16);
  desc.name = "dense_f16";
  expectRandomModelMatches(desc, GetParam());
}
