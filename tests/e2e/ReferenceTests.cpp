// Compiled models against ir/reference, beyond what the golden files hold.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/codegen/TileEmulation.h"
#include "tests/e2e/AmxSession.h"
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

struct Contexts {
  std::vector<int64_t> positions; ///< a context of n tokens ends at position n - 1
  std::vector<int32_t> ids;
  ir::ReferenceTensor expected;
};

/// What ir/reference gives for gpt-oss-tiny at these positions of the held-out text.
Contexts referenceContexts(const std::vector<int64_t> &positions, const std::string &kv) {
  Contexts contexts;
  contexts.positions = positions;
  contexts.ids = heldoutIds(size_t(positions.back() + 1));
  ReferenceOptions options;
  options.kvElement = kv;
  contexts.expected = ReferenceModel::fromCheckpoint(tinyModel, options)
                          .run(contexts.ids, contexts.positions)
                          .logits;
  return contexts;
}

void expectContextsMatch(const Contexts &contexts, const std::string &target, const std::string &kv,
                         double tolerance) {
  SCOPED_TRACE(target);
  SessionSetup setup;
  setup.context = uint32_t(contexts.ids.size());
  setup.threads = 2;
  auto session =
      openSession(compiled(tinyModel, {"--target=" + target, "--quant=none", "--kv=" + kv}), setup);
  const AllLogits logits = logitsAt(*session, contexts.ids, contexts.positions);
  const size_t vocabulary = size_t(contexts.expected.width);
  ASSERT_EQ(logits.size(), contexts.positions.size() * vocabulary);
  for (size_t i = 0; i < contexts.positions.size(); ++i) {
    const int64_t length = contexts.positions[i] + 1;
    const double difference =
        largestDifference(std::span(logits).subspan(i * vocabulary, vocabulary),
                          {contexts.expected.row(int64_t(i)), vocabulary});
    EXPECT_LT(difference, tolerance) << "context of " << length;
    testing::Test::RecordProperty(fmt::format("{}_context_{}", target, length),
                                  fmt::format("{:.1e}", difference));
  }
}

/// A description with random weights, compiled from its model.json.
void expectRandomModelMatches(const ModelDesc &desc, const char *target,
                              const std::string &quant = "none", const std::string &rows = "f32",
                              double tolerance = referenceLogits, const std::string &kv = "f32") {
  SCOPED_TRACE(desc.name + " " + quant + " " + rows + " " + kv);
  constexpr uint64_t seed = 7;
  const TempFolder folder;
  writeBytes(folder / "model.json", writeModelJson(desc, folder.path.string()));
  std::vector<int32_t> ids;
  std::vector<int64_t> all;
  for (int64_t i = 0; i < 150; ++i) { // beyond two blocks of KV
    ids.push_back(int32_t(uint64_t(i * i * 31 + i * 7) % desc.vocabulary));
    all.push_back(i);
  }
  ReferenceOptions options;
  options.quant = quant;
  options.activations = rows;
  options.kvElement = kv;
  ReferenceModel rounded = ReferenceModel::random(desc, seed, options);
  rounded.runTo("quantize-activations");
  const auto reference = rounded.run(ids, all);
  const TileEmulation emulation; // of the target amx
  const AllLogits logits =
      prefillLogits(*openAmxSession(compiled(folder / "model.json",
                                             {std::string("--target=") + target, "--kv=" + kv,
                                              "--quant=" + quant, "--activations=" + rows,
                                              "--weights=random:" + std::to_string(seed)}),
                                    2, uint32_t(desc.maxContext)),
                    0, ids);
  const double difference = largestDifference(logits, reference.logits.values);
  EXPECT_LT(difference, tolerance);
  testing::Test::RecordProperty("difference_" + quant + "_" + rows,
                                fmt::format("{:.1e}", difference));
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Targets, Reference, testing::Values("avx2", "avx512", "avx512bf16"),
                         nameOfTarget);

TEST_P(Reference, aDenseModelWithTiedEmbeddings) {
  expectRandomModelMatches(denseModel(), GetParam());
}

TEST_P(Reference, expertsInMxfp4WithAShortWindow) {
  expectRandomModelMatches(gptOssLikeModel(), GetParam());
}

TEST_P(Reference, sizesThatFillNoVectorAndNoPanel) {
  expectRandomModelMatches(unevenModel(), GetParam());
  expectRandomModelMatches(qwenLikeModel(), GetParam());
}

TEST_P(Reference, weightsInF16) {
  ModelDesc desc = denseModel();
  for (const char *weight : {"attention.q.weight", "attention.o.weight", "mlp.gate_up.weight",
                             "mlp.down.weight", "embedding.weight"})
    storeAs(desc, weight, WeightFormat::F16);
  desc.name = "dense_f16";
  expectRandomModelMatches(desc, GetParam());
}

TEST_P(Reference, weightsInBlockFormatsReadByFloats) {
  for (const char *quant : {"int8", "int4", "int4a"})
    expectRandomModelMatches(denseModel(), GetParam(), quant);
}

TEST_P(Reference, weightsInBlockFormatsReadByInt8) {
  for (const char *quant : {"int8", "int4", "int4a"})
    expectRandomModelMatches(denseModel(), GetParam(), quant, "q8", q8Logits);
  expectRandomModelMatches(gptOssLikeModel(), GetParam(), "int8", "q8", q8Logits);
}

TEST_P(Reference, expertsInMxfp4ReadByMxint8) {
  expectRandomModelMatches(gptOssLikeModel(), GetParam(), "int8", "mxint8", mxint8Logits);
}

void expectBf16ModelsMatch(const char *target) {
  for (ModelDesc desc : {denseModel(), gptOssLikeModel(), unevenModel(), qwenLikeModel()}) {
    desc.name += "_bf16";
    expectRandomModelMatches(desc, target, "bf16", "bf16", bf16Logits);
  }
}

TEST_P(Reference, weightsInBf16ReadByBf16) { expectBf16ModelsMatch(GetParam()); }

/// Tiles sum in an order of their own, so no other target's test says that theirs are right.
TEST(AmxReference, weightsInBf16ReadByBf16) {
  SKIP_UNLESS_RUNS("avx512bf16");
  expectBf16ModelsMatch("amx");
}

/// Heads as tiles take them: whole groups of 32 dimensions, and enough that share a kv head.
TEST(AmxReference, attentionInBf16) {
  SKIP_UNLESS_RUNS("avx512bf16");
  ModelDesc desc = denseModel();
  desc.name += "_tiles";
  for (auto &[name, block] : desc.blocks)
    block.attention.heads = 8, block.attention.headDim = 32;
  for (const char *target : {"avx512bf16", "amx"}) // the first by pairs: as far away
    expectRandomModelMatches(desc, target, "bf16", "bf16", bf16Logits, "bf16");
}

// Around the window of 128, inside it and far beyond, around yarn's original context of 4,096, and
// at twice that. One run of ir/reference serves all: 30 s.
TEST(Contexts, upToEightThousandTokensWithKvInF32) {
  SKIP_WITHOUT_SHARED();
  const Contexts contexts = referenceContexts({126, 127, 128, 129, 407, 4094, 4096, 8191}, "f32");
  for (const char *target : {"avx2", "avx512"})
    if (runsHere(target))
      expectContextsMatch(contexts, target, "f32", referenceLogits);
}

TEST(Contexts, withKvInBf16) {
  SKIP_WITHOUT_SHARED();
  const Contexts contexts = referenceContexts({126, 127, 128, 129, 407, 1099}, "bf16");
  for (const char *target : {"avx2", "avx512"})
    if (runsHere(target))
      expectContextsMatch(contexts, target, "bf16", bf16KvLogits);
}
