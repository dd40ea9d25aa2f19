// checkCheckpoint(): every difference between description and checkpoint is named.
#include <gmock/gmock.h>

#include "tests/compiler/frontends/TestModels.h"

namespace inf::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CheckCheckpoint : public testing::Test {
protected:
  void SetUp() override {
    decls = weightDecls(denseModel());
    writeZeroCheckpoint(directory, decls);
  }
  std::string refusal() {
    auto checkpoint = Checkpoint::open(directory.path());
    return badInput([&] { checkCheckpoint(decls, *checkpoint); });
  }
  WeightDecl &decl(const std::string &name) {
    for (WeightDecl &candidate : decls)
      if (candidate.name == name)
        return candidate;
    throw std::runtime_error("no declaration " + name);
  }

  TempDir directory;
  std::vector<WeightDecl> decls;
};

TEST_F(CheckCheckpoint, acceptsWhatFitsWithATiedEmbedding) {
  EXPECT_NO_THROW(checkCheckpoint(decls, *Checkpoint::open(directory.path())));
}

TEST_F(CheckCheckpoint, listsAMissingTensor) {
  decl("layers.1.attention.k.weight").parts[0].tensor = "1.key";
  EXPECT_THAT(refusal(), AllOf(HasSubstr("1 missing: 1.key"), HasSubstr("1 extra: 1.k")));
}

TEST_F(CheckCheckpoint, listsAnExtraTensor) {
  std::erase_if(decls, [](const WeightDecl &d) { return d.name == "final_norm.weight"; });
  EXPECT_THAT(refusal(), AllOf(HasSubstr("1 extra: norm"), Not(HasSubstr("missing"))));
}

TEST_F(CheckCheckpoint, listsAWrongShapeWithBoth) {
  decl("layers.2.mlp.down.weight").columns = 47;
  EXPECT_THAT(refusal(),
              HasSubstr("1 mismatched: 2.down (expected F32 [32, 47], found F32 [32, 48])"));
}

TEST_F(CheckCheckpoint, listsAWrongDtypeWithBoth) {
  decl("final_norm.weight").parts[0].stored = WeightFormat::BF16;
  EXPECT_THAT(refusal(), HasSubstr("1 mismatched: norm (expected BF16 [32], found F32 [32])"));
}

TEST_F(CheckCheckpoint, listsTheFirstTenNamesAndCountsTheRest) {
  for (WeightDecl &each : decls)
    for (WeightPart &part : each.parts)
      part.tensor = "renamed." + part.tensor;
  // 3 layers of 9 tensors, the embedding and the last norm.
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("29 missing: "), HasSubstr("and 19 more"), HasSubstr("29 extra: ")));
}

TEST_F(CheckCheckpoint, readsATransposedTensorWithItsAxesSwapped) {
  decl("layers.0.mlp.down.weight").parts[0].transposed = true;
  EXPECT_THAT(refusal(), HasSubstr("0.down (expected F32 [48, 32], found F32 [32, 48])"));
}

TEST_F(CheckCheckpoint, readsMxfp4AsBlocksAndScales) {
  decl("layers.0.attention.o.weight").parts[0] = {"o.blocks", "o.scales", WeightFormat::MXFP4,
                                                  32,         false,      false};
  EXPECT_THAT(refusal(), HasSubstr("2 missing: o.blocks, o.scales"));
}

TEST_F(CheckCheckpoint, saysThatBlocksInOneTensorAreNoSafetensors) {
  for (WeightFormat format : {WeightFormat::MXFP4, WeightFormat::INT8, WeightFormat::INT4A}) {
    decl("layers.0.attention.o.weight").parts[0] = {"o", "", format, 32, false, false};
    EXPECT_THAT(refusal(), AllOf(HasSubstr("\"o\""), HasSubstr("only GGUF files")));
  }
}

} // namespace
} // namespace inf::test
