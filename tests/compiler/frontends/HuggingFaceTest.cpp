// importHuggingFace(): what config.json and the checkpoint say, and what is refused by name.
#include <filesystem>

#include <gmock/gmock.h>

#include "tests/compiler/frontends/TestModels.h"

namespace inf::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

ModelDesc import(const json &config) {
  TempDir directory;
  directory.write("model/config.json", config.dump());
  return importHuggingFace(directory.file("model"));
}

json changed(const std::string &key, const json &value) {
  json config = smallConfig();
  config[key] = value;
  return config;
}

json without(const std::string &key) {
  json config = smallConfig();
  config.erase(key);
  return config;
}

std::string refusal(const json &config) {
  return badInput([&] { import(config); });
}

TEST(HuggingFace, importsConfigJsonAloneWithMxfp4Experts) {
  ModelDesc desc = import(smallConfig());
  EXPECT_EQ(desc.name, "model");
  EXPECT_EQ(desc.weightsDirectory, "");
  EXPECT_EQ(desc.tokenizerPath, "");
  const WeightPart &part = desc.tensors.at("layers.{layer}.moe.gate_up.weight").parts.at(0);
  EXPECT_EQ(part.stored, WeightFormat::MXFP4);
  EXPECT_TRUE(part.interleaved);
  EXPECT_FALSE(weightDecls(desc).empty());
}

TEST(HuggingFace, importsConfigJsonAloneWithPlainExperts) {
  ModelDesc desc = import(without("quantization_config"));
  const WeightPart &part = desc.tensors.at("layers.{layer}.moe.down.weight").parts.at(0);
  EXPECT_EQ(part.stored, WeightFormat::BF16);
  EXPECT_TRUE(part.transposed);
  EXPECT_FALSE(part.interleaved);
}

TEST(HuggingFace, readsBothSpellingsOfRopeAlike) {
  json newer = without("rope_scaling");
  newer.erase("rope_theta");
  newer["rope_parameters"] = smallConfig()["rope_scaling"];
  newer["rope_parameters"]["rope_theta"] = 150000.0;
  EXPECT_EQ(import(newer), import(smallConfig()));
  RopeDesc rope = import(newer).ropes.at("main");
  RopeDesc yarn;
  yarn.type = "yarn";
  yarn.theta = 150000;
  yarn.factor = 32;
  yarn.originalContext = 4096;
  yarn.truncate = false;
  EXPECT_EQ(rope, yarn);
}

TEST(HuggingFace, acceptsBothSpellingsOfRopeOnlyWhenTheyAgree) {
  json both = smallConfig();
  both["rope_parameters"] = both["rope_scaling"];
  both["rope_parameters"]["rope_theta"] = 150000;
  EXPECT_EQ(import(both), import(smallConfig()));
  both["rope_parameters"]["factor"] = 16;
  EXPECT_THAT(refusal(both), HasSubstr("rope_scaling and rope_parameters differ"));
}

TEST(HuggingFace, refusesTwoDifferentThetas) {
  json config = smallConfig();
  config["rope_scaling"]["rope_theta"] = 10000;
  EXPECT_THAT(refusal(config), HasSubstr("differs from the rope_theta outside (150000)"));
}

TEST(HuggingFace, refusesAConfigWithoutRopeInsteadOfDroppingYarn) {
  EXPECT_THAT(refusal(without("rope_scaling")), HasSubstr("neither rope_scaling nor"));
  EXPECT_THAT(refusal(without("rope_theta")), HasSubstr("rope_theta"));
  EXPECT_EQ(import(changed("rope_scaling", nullptr)).ropes.at("main").type, "default");
}

TEST(HuggingFace, refusesAnUnknownRopeTypeOrKey) {
  json config = smallConfig();
  config["rope_scaling"]["rope_type"] = "mrope";
  EXPECT_THAT(refusal(config),
              HasSubstr("unknown rope type \"mrope\"; known: default, linear, dynamic, llama3"));
  config = smallConfig();
  config["rope_scaling"]["mscale"] = 1.0;
  EXPECT_THAT(refusal(config), HasSubstr("rope_scaling.mscale: unknown key"));
}

TEST(HuggingFace, defaultsToAlternatingLayersThatStartSliding) {
  EXPECT_EQ(import(without("layer_types")), import(smallConfig()));
}

TEST(HuggingFace, refusesLayerTypesThatAreUnknownOrOfAnotherCount) {
  EXPECT_THAT(refusal(changed("layer_types", {"sliding_attention", "chunked_attention"})),
              HasSubstr("layer_types[1]: unknown layer type \"chunked_attention\""));
  EXPECT_THAT(refusal(changed("layer_types", {"sliding_attention"})),
              HasSubstr("expected num_hidden_layers (2) entries, found 1"));
}

TEST(HuggingFace, readsExpertsPerTokenInBothSpellings) {
  EXPECT_EQ(import(without("num_experts_per_tok")), import(smallConfig()));
  EXPECT_EQ(import(without("experts_per_token")), import(smallConfig()));
  EXPECT_THAT(refusal(changed("experts_per_token", 3)), HasSubstr("differ"));
}

TEST(HuggingFace, unitesTheStopTokensOfBothFiles) {
  TempDir directory;
  directory.write("config.json", changed("eos_token_id", {9, 3}).dump());
  directory.write("generation_config.json", R"({"eos_token_id": [12, 9], "bos_token_id": 5})");
  ModelDesc desc = importHuggingFace(directory.path());
  EXPECT_THAT(desc.eosTokens, ElementsAre(3, 9, 12));
  EXPECT_EQ(desc.bosToken, 5);
}

TEST(HuggingFace, refusesStopTokensOutsideOfTheVocabulary) {
  EXPECT_THAT(refusal(changed("eos_token_id", 40)), HasSubstr("eos_tokens[0]"));
  EXPECT_THAT(refusal(changed("eos_token_id", -1)), HasSubstr("eos_token_id"));
  EXPECT_THAT(refusal(changed("eos_token_id", "<end>")), HasSubstr("eos_token_id"));
}

TEST(HuggingFace, readsBiasesAndTiedEmbeddingsFromTheConfig) {
  json config = changed("attention_bias", false);
  config["tie_word_embeddings"] = true;
  ModelDesc desc = import(config);
  EXPECT_FALSE(desc.blocks.at("full").attention.bias);
  EXPECT_EQ(desc.tensors.count("layers.{layer}.attention.q.bias"), 0u);
  EXPECT_EQ(desc.tensors.count("lm_head.weight"), 0u);
  EXPECT_EQ(weightDecls(desc).back().parts.at(0).tensor, "model.embed_tokens.weight");
}

TEST(HuggingFace, refusesUnknownModelsActivationsAndQuantizationsByName) {
  EXPECT_THAT(refusal(changed("model_type", "mamba")),
              AllOf(HasSubstr("unknown model type \"mamba\""), HasSubstr("gpt_oss")));
  EXPECT_THAT(refusal(changed("architectures", {"GptOssForSequenceClassification"})),
              HasSubstr("unknown architecture \"GptOssForSequenceClassification\""));
  EXPECT_THAT(refusal(changed("hidden_act", "gelu")), HasSubstr("unknown activation \"gelu\""));
  EXPECT_THAT(refusal(changed("quantization_config", {{"quant_method", "awq"}})),
              HasSubstr("unknown quantization \"awq\"; known: mxfp4"));
}

TEST(HuggingFace, refusesMissingZeroHugeAndNegativeDimensions) {
  for (const char *key : {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
                          "num_attention_heads", "num_key_value_heads", "head_dim",
                          "num_local_experts", "sliding_window", "max_position_embeddings"}) {
    EXPECT_THAT(refusal(without(key)), AllOf(HasSubstr(key), HasSubstr("missing")));
    for (json value : {json(0), json(-1), json(UINT64_MAX), json("1"), json(1.5)})
      EXPECT_THAT(refusal(changed(key, value)), HasSubstr(key));
  }
  EXPECT_THAT(refusal(changed("num_key_value_heads", 3)), HasSubstr("multiple of kv_heads"));
}

/// A directory with smallConfig() and a checkpoint of zeros.
class HuggingFaceCheckpoint : public testing::Test {
protected:
  void write(const json &config, const Retype &retype = nullptr) {
    directory.write("config.json", config.dump());
    ASSERT_NO_FATAL_FAILURE(writeZeroCheckpoint(directory, weightDecls(import(config)), retype));
  }
  TempDir directory;
};

TEST_F(HuggingFaceCheckpoint, readsTheStorageOfEachTensor) {
  write(smallConfig(), [](const std::string &name, DType stored) {
    if (name == "model.layers.1.self_attn.q_proj.weight")
      return DType::F16;
    return name.find("router") != std::string::npos ? DType::F32 : stored;
  });
  ModelDesc desc = importHuggingFace(directory.path());
  EXPECT_EQ(desc.tensors.at("layers.{layer}.moe.router.weight").parts[0].stored, WeightFormat::F32);
  EXPECT_EQ(desc.tensors.at("layers.1.attention.q.weight").parts[0].stored, WeightFormat::F16);
  EXPECT_EQ(desc.tensors.count("layers.1.attention.k.weight"), 0u);
  EXPECT_NO_THROW(checkCheckpoint(weightDecls(desc), *Checkpoint::open(directory.path())));
}

TEST_F(HuggingFaceCheckpoint, trustsTheTensorsMoreThanQuantizationConfig) {
  write(without("quantization_config"));
  directory.write("config.json", smallConfig().dump());
  ModelDesc desc = importHuggingFace(directory.path());
  EXPECT_TRUE(desc.tensors.at("layers.{layer}.moe.down.weight").parts[0].transposed);
  EXPECT_NO_THROW(checkCheckpoint(weightDecls(desc), *Checkpoint::open(directory.path())));
}

TEST_F(HuggingFaceCheckpoint, refusesATensorOfAnotherStorageByName) {
  write(smallConfig(), [](const std::string &name, DType stored) {
    return name == "model.layers.1.self_attn.sinks" ? DType::F64 : stored;
  });
  EXPECT_THAT(badInput([&] { importHuggingFace(directory.path()); }),
              HasSubstr("tensor model.layers.1.self_attn.sinks: stored as F64"));
}

TEST_F(HuggingFaceCheckpoint, refusesAMissingShard) {
  directory.write("config.json", smallConfig().dump());
  directory.write("model.safetensors.index.json",
                  R"({"weight_map": {"lm_head.weight": "model-00001-of-00001.safetensors"}})");
  try {
    importHuggingFace(directory.path());
    FAIL() << "a missing shard was accepted";
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), HasSubstr("model-00001-of-00001.safetensors"));
  }
}

TEST_F(HuggingFaceCheckpoint, refusesAShardWithoutItsIndexInsteadOfIgnoringIt) {
  directory.write("config.json", smallConfig().dump());
  directory.write("model-00001-of-00002.safetensors", "");
  EXPECT_THROW(importHuggingFace(directory.path()), Error);
}

TEST_F(HuggingFaceCheckpoint, refusesADirectoryWithoutConfig) {
  EXPECT_THAT(errorOf(ErrorCode::Io, [&] { readModel(directory.path()); }),
              HasSubstr("config.json"));
}

TEST_F(HuggingFaceCheckpoint, refusesBrokenConfigs) {
  std::string text = smallConfig().dump();
  for (size_t length = 0; length < text.size(); length += 7) {
    directory.write("config.json", text.substr(0, length));
    EXPECT_THAT(badInput([&] { importHuggingFace(directory.path()); }),
                HasSubstr("not valid JSON"));
  }
  directory.write("config.json", text);
  directory.write("generation_config.json", "[1]");
  EXPECT_THAT(badInput([&] { importHuggingFace(directory.path()); }),
              HasSubstr("generation_config.json: expected an object"));
}

} // namespace
} // namespace inf::test
