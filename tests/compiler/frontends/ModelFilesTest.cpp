// The models of this repository and the checkpoint families beside it.
#include <filesystem>

#include <gmock/gmock.h>

#include "tests/compiler/frontends/TestModels.h"

namespace inf::test {
namespace {

void expectCheckpointFits(const ModelDesc &desc) {
  auto checkpoint = Checkpoint::open(desc.weightsDirectory);
  EXPECT_NO_THROW(checkCheckpoint(weightDecls(desc), *checkpoint));
}

TEST(ModelFiles, tinyDirectoryImportsAndItsWeightsAreExactlyTheCheckpoints) {
  ModelDesc desc = readModel(inSource("models/gpt-oss-tiny"));
  EXPECT_EQ(desc.vocabulary, 4096u);
  EXPECT_EQ(desc.layers.size(), 6u);
  EXPECT_EQ(desc.blocks.at("sliding").attention.window, 128u);
  EXPECT_EQ(desc.blocks.at("full").attention.window, 0u);
  EXPECT_THAT(desc.eosTokens, testing::ElementsAre(4081, 4083, 4092));
  // 6 layers of 17 weights (biases and sinks included), embedding, last norm, head.
  EXPECT_EQ(weightDecls(desc).size(), 6u * 17 + 3);
  expectCheckpointFits(desc);
}

TEST(ModelFiles, tinyJsonIsTheImportOfTheDirectory) {
  EXPECT_EQ(readModel(inSource("models/gpt-oss-tiny.json")),
            readModel(inSource("models/gpt-oss-tiny/")));
}

TEST(ModelFiles, writingTheImportOfTinyReadsBack) {
  ModelDesc desc = readModel(inSource("models/gpt-oss-tiny"));
  std::string base = inSource("models");
  EXPECT_EQ(parseModelJson(writeModelJson(desc, base), base), desc);
}

/// config.json as published, in a directory of the model's name, beside its model.json.
void expectPublished(const std::string &name, const nlohmann::json &config) {
  TempDir directory;
  directory.write(name + "/config.json", config.dump());
  directory.write(name + "/generation_config.json", publishedGenerationConfig().dump());
  directory.write(name + "/tokenizer.json", "{}");
  directory.copy(inSource("models/" + name + ".json"), name + ".json");
  ModelDesc imported = readModel(directory.file(name));
  ModelDesc written = readModel(directory.file(name + ".json"));
  EXPECT_EQ(written.weightsDirectory, directory.file(name));
  imported.weightsDirectory = written.weightsDirectory; // config.json alone has no checkpoint
  EXPECT_EQ(imported, written);
}

TEST(ModelFiles, gptOss20bJsonIsWhatThePublishedConfigSays) {
  expectPublished("gpt-oss-20b", publishedConfig());
}

TEST(ModelFiles, gptOss120bDiffersInLayersAndExpertsOnly) {
  nlohmann::json config = publishedConfig();
  config["num_hidden_layers"] = 36;
  config["num_local_experts"] = 128;
  config.erase("layer_types");
  expectPublished("gpt-oss-120b", config);
}

/// tests/data/configs/NAME.json holds the published facts, models/NAME.json is what they mean.
TEST(ModelFiles, everyDescribedModelIsTheImportOfItsConfig) {
  size_t count = 0;
  for (const auto &entry : std::filesystem::directory_iterator(inSource("tests/data/configs"))) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".json")
      continue;
    SCOPED_TRACE(name);
    TempDir directory;
    directory.write(name + "/tokenizer.json", "{}"); // makes the directory
    directory.copy(entry.path().string(), name + "/config.json");
    directory.copy(inSource("models/" + name + ".json"), name + ".json");
    ModelDesc imported = readModel(directory.file(name));
    imported.weightsDirectory = directory.file(name); // config.json alone has no checkpoint
    EXPECT_EQ(imported, readModel(directory.file(name + ".json")));
    ++count;
  }
  EXPECT_GE(count, 6u);
}

TEST(ModelFiles, gptOss20bHasThePublishedShapes) {
  auto decls = weightDecls(readModel(inSource("models/gpt-oss-20b.json")));
  EXPECT_EQ(decls.size(), 24u * 17 + 3);
  for (const WeightDecl &decl : decls) {
    if (decl.name == "layers.23.moe.gate_up.weight") {
      EXPECT_EQ(decl.experts, 32u);
      EXPECT_EQ(decl.rows, 5760u);
      EXPECT_EQ(decl.columns, 2880u);
      EXPECT_EQ(decl.parts[0].tensor, "model.layers.23.mlp.experts.gate_up_proj_blocks");
    }
    if (decl.name == "layers.23.attention.q.weight") {
      EXPECT_EQ(decl.rows, 4096u);
    }
  }
}

TEST(ModelFiles, familyWithNewerRopeAndPlainF32ExpertsImports) {
  if (!std::filesystem::exists(inSource("../shared")))
    GTEST_SKIP() << "the ../shared folder is not here";
  ModelDesc desc = readModel(inSource("../shared/families/gpt_oss"));
  EXPECT_EQ(desc.ropes.at("main").type, "yarn");
  EXPECT_FALSE(desc.ropes.at("main").truncate);
  EXPECT_EQ(desc.blocks.at("sliding").attention.window, 8u);
  EXPECT_TRUE(desc.eosTokens.empty());
  const WeightPart &part = desc.tensors.at("layers.{layer}.moe.gate_up.weight").parts.at(0);
  EXPECT_EQ(part.stored, WeightFormat::F32);
  EXPECT_TRUE(part.transposed);
  EXPECT_TRUE(part.interleaved);
  expectCheckpointFits(desc);
}

} // namespace
} // namespace inf::test
