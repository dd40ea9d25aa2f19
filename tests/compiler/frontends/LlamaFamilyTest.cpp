// Importers of the models of Llama's shape: what each model type takes from config.json and the
// checkpoint, and the keys that are refused by name.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "tests/compiler/frontends/TestModels.h"

namespace inf::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

struct Type {
  const char *name, *architecture;
};
constexpr Type types[] = {
    {"llama", "LlamaForCausalLM"},     {"mistral", "MistralForCausalLM"},
    {"qwen2", "Qwen2ForCausalLM"},     {"qwen3", "Qwen3ForCausalLM"},
    {"mixtral", "MixtralForCausalLM"}, {"qwen3_moe", "Qwen3MoeForCausalLM"},
};

/// A small config.json of a model type, with the keys that the published ones have.
json configOf(const std::string &type) {
  json config = json::parse(R"({
    "vocab_size": 40, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 24, "hidden_act": "silu",
    "max_position_embeddings": 256, "rms_norm_eps": 1e-6, "rope_theta": 50000.0,
    "tie_word_embeddings": false, "bos_token_id": 1, "eos_token_id": 2})");
  config["model_type"] = type;
  for (const Type &known : types)
    if (known.name == type)
      config["architectures"] = {known.architecture};
  if (type == "mixtral")
    config.update({{"num_local_experts", 3}, {"num_experts_per_tok", 2}});
  if (type == "qwen3_moe")
    config.update(
        json::parse(R"({"num_experts": 5, "num_experts_per_tok": 2, "norm_topk_prob": true,
                                  "moe_intermediate_size": 32, "decoder_sparse_step": 1,
                                  "mlp_only_layers": []})"));
  return config;
}

ModelDesc import(const json &config) {
  TempDir directory;
  directory.write("model/config.json", config.dump());
  return importHuggingFace(directory.file("model"));
}

std::string refusal(const json &config) {
  return badInput([&] { import(config); });
}

json with(const std::string &type, const json &changes) {
  json config = configOf(type);
  config.update(changes);
  return config;
}

const AttentionDesc &attentionOf(const ModelDesc &desc, const std::string &block = "layer") {
  return desc.blocks.at(block).attention;
}

TEST(LlamaFamily, everyTypeImportsAndHasARuleForEachWeight) {
  for (const Type &type : types) {
    SCOPED_TRACE(type.name);
    const ModelDesc desc = import(configOf(type.name));
    EXPECT_EQ(desc.architecture, type.name);
    EXPECT_EQ(desc.layers.size(), 4u);
    EXPECT_EQ(desc.ropes.at("main").theta, 50000);
    EXPECT_EQ(attentionOf(desc).headDim, 24u);
    EXPECT_FALSE(weightDecls(desc).empty());
    EXPECT_EQ(parseModelJson(writeModelJson(desc, "/"), "/"), desc);
  }
}

TEST(LlamaFamily, biasesAreThoseOfTheType) {
  for (const Type &type : types) {
    SCOPED_TRACE(type.name);
    const AttentionDesc attention = attentionOf(import(configOf(type.name)));
    EXPECT_EQ(attention.bias, std::string(type.name) == "qwen2");
    EXPECT_FALSE(attention.outputBias);
  }
  const ModelDesc llama = import(with("llama", {{"attention_bias", true}, {"mlp_bias", true}}));
  EXPECT_TRUE(attentionOf(llama).bias && attentionOf(llama).outputBias);
  EXPECT_TRUE(llama.blocks.at("layer").mlp->bias);
  EXPECT_TRUE(attentionOf(import(with("qwen3", {{"attention_bias", true}}))).outputBias);
  EXPECT_THAT(
      refusal(with("mistral", {{"attention_bias", true}})),
      AllOf(HasSubstr("attention_bias: expected false, found true, which is not implemented"),
            HasSubstr("bring-your-own-model.md")));
  EXPECT_THAT(refusal(with("qwen2", {{"attention_bias", false}})), HasSubstr("attention_bias"));
  EXPECT_THAT(refusal(with("qwen3", {{"mlp_bias", true}})), HasSubstr("mlp_bias"));
}

TEST(LlamaFamily, normsOfHeadsAreQwen3s) {
  for (const Type &type : types)
    EXPECT_EQ(attentionOf(import(configOf(type.name))).qkNorm,
              std::string(type.name).starts_with("qwen3"))
        << type.name;
  EXPECT_THAT(refusal(with("llama", {{"use_qk_norm", true}})), HasSubstr("use_qk_norm"));
}

TEST(LlamaFamily, headSizeIsHiddenByHeadsUnlessItIsSaid) {
  json config = configOf("llama");
  config.erase("head_dim");
  EXPECT_EQ(attentionOf(import(config)).headDim, 16u);
  config["num_attention_heads"] = 5;
  EXPECT_THAT(refusal(config), HasSubstr("expected a divisor of hidden_size (64)"));
  json qwen3 = configOf("qwen3");
  qwen3.erase("head_dim"); // what is meant by none differs from hidden / heads
  EXPECT_THAT(refusal(qwen3), AllOf(HasSubstr("head_dim"), HasSubstr("missing")));
}

TEST(LlamaFamily, headsWithoutAnotherCountAreTheirOwnInLlamaAlone) {
  json config = configOf("llama");
  config.erase("num_key_value_heads");
  EXPECT_EQ(attentionOf(import(config)).kvHeads, 4u);
  config = configOf("mistral");
  config.erase("num_key_value_heads");
  EXPECT_THAT(refusal(config), HasSubstr("num_key_value_heads"));
}

TEST(LlamaFamily, windowsOfMistralAndMixtralAreOnEveryLayer) {
  for (const char *type : {"mistral", "mixtral"}) {
    EXPECT_EQ(attentionOf(import(with(type, {{"sliding_window", 16}}))).window, 16u);
    EXPECT_EQ(attentionOf(import(with(type, {{"sliding_window", nullptr}}))).window, 0u);
  }
  EXPECT_THAT(refusal(with("mistral", {{"sliding_window", 0}})), HasSubstr("sliding_window"));
}

TEST(LlamaFamily, windowsOfQwenBeginAtALayerWhenTheyAreUsed) {
  const json said = {{"sliding_window", 16}, {"max_window_layers", 3}};
  EXPECT_EQ(import(with("qwen2", said)).layers.front(), "layer");
  json used = said;
  used["use_sliding_window"] = true;
  for (const char *type : {"qwen2", "qwen3"}) {
    const ModelDesc desc = import(with(type, used));
    EXPECT_THAT(desc.layers, ElementsAre("full", "full", "full", "sliding"));
    EXPECT_EQ(attentionOf(desc, "sliding").window, 16u);
    EXPECT_EQ(attentionOf(desc, "full").window, 0u);
  }
  EXPECT_THAT(refusal(with("qwen3_moe", used)), HasSubstr("max_window_layers"));
}

TEST(LlamaFamily, layerTypesGoBeforeTheOtherKeys) {
  const json sliding = {"sliding_attention", "full_attention", "full_attention",
                        "sliding_attention"};
  const ModelDesc desc = import(
      with("qwen2", {{"layer_types", sliding}, {"sliding_window", 8}, {"max_window_layers", 1}}));
  EXPECT_THAT(desc.layers, ElementsAre("sliding", "full", "full", "sliding"));
  EXPECT_THAT(refusal(with("llama", {{"layer_types", sliding}})),
              HasSubstr("full_attention alone"));
  EXPECT_THAT(refusal(with("qwen2", {{"layer_types", sliding}})), HasSubstr("sliding_window"));
  EXPECT_THAT(refusal(with("qwen2", {{"layer_types", json::array({"full_attention"})}})),
              HasSubstr("expected num_hidden_layers (4) entries"));
}

TEST(LlamaFamily, keysThatWouldChangeWhatIsComputedAreRefusedByName) {
  const std::pair<const char *, json> keys[] = {
      {"hidden_act", "gelu"},
      {"partial_rotary_factor", 0.5},
      {"rope_interleaved", true},
      {"quantization_config", json{{"quant_method", "fp8"}}},
      {"attn_logit_softcapping", 50.0},
      {"final_logit_softcapping", 30.0},
      {"embedding_multiplier", 12.0},
      {"residual_multiplier", 0.22},
      {"logits_scaling", 8.0},
      {"attention_multiplier", 0.01},
      {"n_shared_experts", 1},
      {"rope_scaling", json{{"rope_type", "default"}, {"partial_rotary_factor", 0.5}}},
  };
  for (const Type &type : types)
    for (const auto &[key, value] : keys)
      EXPECT_THAT(refusal(with(type.name, {{key, value}})), HasSubstr(key)) << type.name;
}

TEST(LlamaFamily, keysWithoutASafeDefaultAreRequired) {
  for (const Type &type : types)
    for (const char *key : {"rms_norm_eps", "intermediate_size", "max_position_embeddings"}) {
      json config = configOf(type.name);
      config.erase(key);
      EXPECT_THAT(refusal(config), AllOf(HasSubstr(key), HasSubstr("missing"))) << type.name;
    }
  json config = configOf("mistral");
  config.erase("rope_theta");
  EXPECT_THAT(refusal(config), HasSubstr("rope_theta"));
  config = configOf("llama"); // the first Llamas' files have none
  config.erase("rope_theta");
  EXPECT_EQ(import(config).ropes.at("main").theta, 10000);
  config = configOf("qwen3_moe");
  config.erase("norm_topk_prob");
  EXPECT_THAT(refusal(config), HasSubstr("norm_topk_prob"));
}

TEST(LlamaFamily, expertsOfQwen3MoeAreOnTheLayersItSays) {
  const ModelDesc desc =
      import(with("qwen3_moe", {{"decoder_sparse_step", 2}, {"mlp_only_layers", {3}}}));
  EXPECT_THAT(desc.layers, ElementsAre("dense", "experts", "dense", "dense"));
  EXPECT_EQ(desc.blocks.at("experts").moe->intermediate, 32u);
  EXPECT_EQ(desc.blocks.at("dense").mlp->intermediate, 96u);
  EXPECT_FALSE(weightDecls(desc).empty());
  EXPECT_THAT(refusal(with("qwen3_moe", {{"mlp_only_layers", {4}}})), HasSubstr("below 4"));
  EXPECT_THAT(refusal(with("qwen3_moe", {{"decoder_sparse_step", 0}})),
              HasSubstr("decoder_sparse_step"));
}

TEST(LlamaFamily, expertsWeightsAreNormalizedOrNotAsQwen3MoeSays) {
  EXPECT_TRUE(import(configOf("mixtral")).blocks.at("layer").moe->normalizeTopK);
  for (bool normalized : {true, false})
    EXPECT_EQ(import(with("qwen3_moe", {{"norm_topk_prob", normalized}}))
                  .blocks.at("layer")
                  .moe->normalizeTopK,
              normalized);
}

TEST(LlamaFamily, ropeOfEveryTypeIsReadInBothSpellings) {
  const std::pair<const char *, json> scalings[] = {
      {"linear", {{"factor", 2.0}}},
      {"dynamic", {{"factor", 2.0}}},
      {"yarn", {{"factor", 4.0}, {"original_max_position_embeddings", 64}}},
      {"llama3",
       {{"factor", 8.0},
        {"low_freq_factor", 1.0},
        {"high_freq_factor", 4.0},
        {"original_max_position_embeddings", 64}}},
      {"longrope",
       {{"short_factor", std::vector<double>(12, 1.5)},
        {"long_factor", std::vector<double>(12, 3.0)},
        {"original_max_position_embeddings", 64}}},
  };
  for (const auto &[type, numbers] : scalings) {
    SCOPED_TRACE(type);
    json older = numbers, newer = numbers;
    older["type"] = type;
    newer["rope_type"] = type;
    newer["rope_theta"] = 50000.0;
    json config = with("llama", {{"rope_parameters", newer}});
    config.erase("rope_theta");
    const RopeDesc rope = import(config).ropes.at("main");
    EXPECT_EQ(rope, import(with("llama", {{"rope_scaling", older}})).ropes.at("main"));
    EXPECT_EQ(rope.type, type);
  }
}

TEST(LlamaFamily, longRopesFactorIsTheRatioOfItsContextsOrMustComeWithAttentionFactor) {
  json scaling = {{"rope_type", "longrope"},
                  {"short_factor", std::vector<double>(12, 1.0)},
                  {"long_factor", std::vector<double>(12, 3.0)}};
  json config = with("llama", {{"rope_scaling", scaling}});
  config["original_max_position_embeddings"] = 64; // beside, as the published ones have it
  EXPECT_EQ(import(config).ropes.at("main").factor, 4);
  config["rope_scaling"]["factor"] = 8.0;
  EXPECT_THAT(refusal(config), HasSubstr("add attention_factor"));
  config["rope_scaling"]["attention_factor"] = 1.2;
  EXPECT_EQ(import(config).ropes.at("main").attentionFactor, 1.2);
}

/// A checkpoint of zeros, its tensors named as `rename` says.
class FamilyCheckpoint : public testing::Test {
protected:
  void write(const json &config, const std::function<std::string(std::string)> &rename) {
    std::vector<WeightDecl> decls = weightDecls(import(config));
    for (WeightDecl &decl : decls)
      for (WeightPart &part : decl.parts)
        part.tensor = rename(part.tensor);
    directory.write("config.json", config.dump());
    ASSERT_NO_FATAL_FAILURE(writeZeroCheckpoint(directory, decls));
  }
  void expectFits() {
    const ModelDesc desc = importHuggingFace(directory.path());
    EXPECT_NO_THROW(checkCheckpoint(weightDecls(desc), *Checkpoint::open(directory.path())));
  }
  TempDir directory;
};

TEST_F(FamilyCheckpoint, findsThePrefixOfItsNames) {
  const std::string inner = "model.";
  for (const std::string prefix : {"model.", "language_model.model.", ""}) {
    write(configOf("llama"), [&](const std::string &name) {
      if (name.starts_with(inner))
        return prefix + name.substr(inner.size());
      return (prefix == "language_model.model." ? "language_model." : "") + name;
    });
    expectFits();
  }
}

TEST_F(FamilyCheckpoint, refusesTwoModelsInOne) {
  write(configOf("llama"), [](const std::string &name) {
    return name == "lm_head.weight" ? "vision.embed_tokens.weight" : name;
  });
  EXPECT_THAT(badInput([&] { importHuggingFace(directory.path()); }),
              AllOf(HasSubstr("2 tensors named ...embed_tokens.weight"), HasSubstr("vision.")));
}

TEST_F(FamilyCheckpoint, mayHoldATiedHeadOnceMoreIfItIsTheSame) {
  const json tied = with("qwen3", {{"tie_word_embeddings", true}});
  write(configOf("qwen3"), [](std::string name) { return name; });
  directory.write("config.json", tied.dump());
  expectFits();
  const std::vector<WeightDecl> decls = weightDecls(import(configOf("qwen3")));
  writeZeroCheckpoint(directory, decls, [](const std::string &name, DType stored) {
    return name == "lm_head.weight" ? DType::F16 : stored;
  });
  EXPECT_THAT(
      badInput([&] { importHuggingFace(directory.path()); }),
      AllOf(HasSubstr("tie_word_embeddings"), HasSubstr("differs from model.embed_tokens")));
}

TEST_F(FamilyCheckpoint, hasATensorForEachExpert) {
  for (const char *type : {"mixtral", "qwen3_moe"}) {
    write(configOf(type), [](std::string name) { return name; });
    expectFits();
    const auto checkpoint = Checkpoint::open(directory.path());
    EXPECT_TRUE(checkpoint->find(std::string(type) == "mixtral"
                                     ? "model.layers.3.block_sparse_moe.experts.2.w3.weight"
                                     : "model.layers.3.mlp.experts.4.up_proj.weight"));
  }
}

TEST_F(FamilyCheckpoint, hasItsExpertsStacked) {
  // Gate and up become one tensor: the declarations are put together anew.
  std::vector<WeightDecl> decls = weightDecls(import(configOf("qwen3_moe")));
  for (WeightDecl &decl : decls) {
    const size_t cut = decl.parts[0].tensor.find("{expert}");
    if (cut == std::string::npos)
      continue;
    const bool up = decl.name.find("gate_up") != std::string::npos;
    WeightPart part = decl.parts[0];
    part.tensor = part.tensor.substr(0, cut) + (up ? "gate_up_proj" : "down_proj");
    part.rows = decl.rows;
    decl.parts = {part};
  }
  directory.write("config.json", configOf("qwen3_moe").dump());
  ASSERT_NO_FATAL_FAILURE(writeZeroCheckpoint(directory, decls));
  expectFits();
}

TEST_F(FamilyCheckpoint, listsTheExpertThatIsMissing) {
  write(configOf("mixtral"), [](std::string name) { return name; });
  json fewer = configOf("mixtral");
  fewer["num_local_experts"] = 4;
  directory.write("config.json", fewer.dump());
  const ModelDesc desc = importHuggingFace(directory.path());
  EXPECT_THAT(
      badInput([&] { checkCheckpoint(weightDecls(desc), *Checkpoint::open(directory.path())); }),
      HasSubstr("experts.3.w1.weight"));
}

TEST(LlamaFamily, sharedCheckpointsOfEveryFamilyFit) {
  if (!std::filesystem::exists(inSource("../shared")))
    GTEST_SKIP() << "the ../shared folder is not here";
  for (const char *family :
       {"llama", "llama3_rope", "mistral_window", "mixtral", "qwen2", "qwen3", "qwen3_moe"}) {
    SCOPED_TRACE(family);
    const ModelDesc desc = readModel(inSource(std::string("../shared/families/") + family));
    EXPECT_NO_THROW(checkCheckpoint(weightDecls(desc), *Checkpoint::open(desc.weightsDirectory)));
  }
}

} // namespace
} // namespace inf::test
