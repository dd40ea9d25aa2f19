#include "compiler/frontends/gguf/Gguf.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include <gmock/gmock.h>

#include "runtime/format/Pack.h"
#include "tests/compiler/frontends/GgufBuilder.h"
#include "tests/compiler/frontends/TestModels.h"

namespace inf {
namespace {

using namespace test;
using testing::ElementsAre, testing::HasSubstr;

struct Written {
  explicit Written(const GgufBuilder &builder) { directory.write("model.gguf", builder.file()); }
  std::string path() const { return directory.file("model.gguf"); }
  TempDir directory;
};

std::string refusal(GgufBuilder builder, const std::function<void(GgufBuilder &)> &change) {
  change(builder);
  const Written written(builder);
  return badInput([&] { readGguf(written.path()); });
}

std::string llamaRefusal(const std::function<void(GgufBuilder &)> &change) {
  return refusal(smallLlama(), change);
}

std::vector<float> rowsOf(const GgufModel &model, const std::string &weight) {
  for (const WeightDecl &decl : weightDecls(model.desc))
    if (decl.name == weight) {
      std::vector<float> rows(decl.experts * decl.rows * decl.columns);
      for (uint64_t expert = 0; expert < decl.experts; ++expert)
        readRowsF32(decl, *model.weights, expert, 0, decl.rows,
                    rows.data() + expert * decl.rows * decl.columns);
      return rows;
    }
  ADD_FAILURE() << "no weight " << weight;
  return {};
}

/// 4 heads on 2, with the rope that all importers make.
AttentionDesc attentionOf(uint64_t headDim) {
  AttentionDesc attention;
  attention.heads = 4;
  attention.kvHeads = 2;
  attention.headDim = headDim;
  attention.rope = "main";
  return attention;
}

TEST(ReadGguf, gptOssIsDescribedAsItsPublishedConfigurationDoes) {
  const Written written(smallGptOss());
  const GgufModel model = readGguf(written.path());
  const ModelDesc &desc = model.desc;
  EXPECT_EQ(desc.name, "small gpt-oss");
  EXPECT_EQ(desc.architecture, "gpt_oss");
  EXPECT_EQ(desc.weightsDirectory, written.path());
  EXPECT_THAT(desc.layers, ElementsAre("sliding", "full"));
  EXPECT_EQ(desc.normEps, 1e-5); // not 9.99999975e-6, the f32 in the file
  EXPECT_EQ(desc.vocabulary, 12u);
  EXPECT_FALSE(desc.tiedEmbeddings);
  RopeDesc rope;
  rope.type = "yarn";
  rope.theta = 150000;
  rope.factor = 32;
  rope.originalContext = 4096;
  rope.truncate = false;
  EXPECT_EQ(desc.ropes.at("main"), rope);
  AttentionDesc attention = attentionOf(16);
  attention.bias = attention.outputBias = attention.sinks = true;
  MoeDesc moe;
  moe.experts = 4;
  moe.topK = 2;
  moe.intermediate = 32;
  moe.routerBias = moe.expertBias = true;
  moe.activation = {"swiglu_clamped", 7, 1.702};
  EXPECT_EQ(desc.blocks.at("full"), (BlockDesc{attention, {}, moe}));
  attention.window = 128;
  EXPECT_EQ(desc.blocks.at("sliding"), (BlockDesc{attention, {}, moe}));
  EXPECT_EQ(desc.bosToken, 4);
  EXPECT_THAT(desc.eosTokens, ElementsAre(5, 6, 7)); // endoftext, return, call; not end
  EXPECT_EQ(model.chatTemplate, "{{ x }}");
  EXPECT_THAT(model.notes, testing::IsEmpty());
}

TEST(ReadGguf, storedTypesAreKeptInTheDeclarations) {
  const Written written(smallGptOss());
  for (const WeightDecl &decl : weightDecls(readGguf(written.path()).desc)) {
    const WeightFormat stored = decl.parts[0].stored;
    if (decl.experts > 1 && !decl.isVector()) {
      EXPECT_EQ(stored, WeightFormat::MXFP4) << decl.name;
      EXPECT_EQ(decl.parts.size(), decl.name.find("gate_up") == std::string::npos ? 1u : 2u);
      EXPECT_EQ(whyNotPackable(decl, {WeightFormat::MXFP4, PackedLayout::Panel16}), std::nullopt);
    } else if (!decl.isVector() && decl.name.find("router") == std::string::npos) {
      EXPECT_EQ(stored, WeightFormat::INT8) << decl.name;
    } else {
      EXPECT_EQ(stored, WeightFormat::F32) << decl.name;
    }
  }
}

TEST(ReadGguf, gateAndUpOfExpertsAreOnePartEach) {
  const GgufBuilder builder = smallGptOss();
  const Written written(builder);
  const GgufModel model = readGguf(written.path());
  const std::vector<float> bias = rowsOf(model, "layers.1.moe.gate_up.bias");
  std::vector<float> gate(4 * 32), up(4 * 32);
  GgufBuilder copy = builder;
  std::memcpy(gate.data(), copy.at("blk.1.ffn_gate_exps.bias").bytes.data(), gate.size() * 4);
  std::memcpy(up.data(), copy.at("blk.1.ffn_up_exps.bias").bytes.data(), up.size() * 4);
  for (size_t expert = 0; expert < 4; ++expert)
    for (size_t row = 0; row < 32; ++row) {
      EXPECT_EQ(bias[expert * 64 + row], gate[expert * 32 + row]);
      EXPECT_EQ(bias[expert * 64 + 32 + row], up[expert * 32 + row]);
    }
}

TEST(ReadGguf, llamaIsDescribedAndItsHeadTied) {
  const Written written(smallLlama());
  const GgufModel model = readGguf(written.path());
  const ModelDesc &desc = model.desc;
  EXPECT_EQ(desc.architecture, "llama");
  EXPECT_TRUE(desc.tiedEmbeddings);
  EXPECT_EQ(desc.ropes.at("main"), RopeDesc{});
  const AttentionDesc attention = attentionOf(64);
  EXPECT_EQ(desc.blocks.at("layer"), (BlockDesc{attention, MlpDesc{512, false, {}}, {}}));
  EXPECT_EQ(desc.layers.size(), 2u);
  EXPECT_THAT(desc.eosTokens, ElementsAre(5, 6));
  EXPECT_THAT(model.notes, ElementsAre(HasSubstr("wants token 4")));
}

TEST(ReadGguf, biasesOfLlamaAreSeenByTheirTensors) {
  std::mt19937_64 random(4);
  GgufBuilder builder = smallLlama();
  for (const std::string b : {"blk.0.", "blk.1."}) {
    builder.tensor(b + "attn_q.bias", {256}, tF32, random);
    for (const std::string name : {"attn_k.bias", "attn_v.bias"})
      builder.tensor(b + name, {128}, tF32, random);
  }
  const Written written(builder);
  const GgufModel model = readGguf(written.path());
  EXPECT_TRUE(model.desc.blocks.at("layer").attention.bias);
  EXPECT_FALSE(model.desc.blocks.at("layer").attention.outputBias);
  std::vector<float> stored(256);
  std::memcpy(stored.data(), builder.at("blk.0.attn_q.bias").bytes.data(), 1024);
  const std::vector<float> bias = rowsOf(model, "layers.0.attention.q.bias");
  EXPECT_EQ(bias[64 + 1], stored[64 + 2]); // head 1: rows 2i, then 2i + 1
  EXPECT_EQ(bias[64 + 32], stored[64 + 1]);
}

TEST(ReadGguf, relativesOfLlamaAreDescribedByTheirTensors) {
  for (const std::string architecture : {"qwen2", "qwen3", "qwen3moe", "llama"}) {
    SCOPED_TRACE(architecture);
    const Written written(smallRelative(architecture));
    const ModelDesc desc = readGguf(written.path()).desc;
    const BlockDesc &block = desc.blocks.at("layer");
    EXPECT_EQ(desc.architecture, architecture == "qwen3moe" ? "qwen3_moe" : architecture);
    EXPECT_EQ(block.attention.headDim, 24u);
    EXPECT_EQ(block.attention.bias, architecture == "qwen2");
    EXPECT_EQ(block.attention.qkNorm, architecture.starts_with("qwen3"));
    EXPECT_EQ(block.moe.has_value(), architecture == "qwen3moe" || architecture == "llama");
    if (block.moe) {
      EXPECT_EQ(block.moe->topK, 2u);
      EXPECT_EQ(block.moe->intermediate, architecture == "llama" ? 96u : 32u);
    }
  }
}

/// GGML rotates neighbours for llama and halves for the others: only llama's rows are put in order.
TEST(ReadGguf, rowsOfQueriesAreReorderedForLlamaAlone) {
  for (const std::string architecture : {"llama", "qwen3"}) {
    const GgufBuilder builder = smallRelative(architecture);
    const Written written(builder);
    std::vector<float> stored(96 * 64);
    GgufBuilder copy = builder;
    std::memcpy(stored.data(), copy.at("blk.0.attn_q.weight").bytes.data(), stored.size() * 4);
    const std::vector<float> rows = rowsOf(readGguf(written.path()), "layers.0.attention.q.weight");
    const size_t second = architecture == "llama" ? 2 : 1; // of head 0, where row 1 comes from
    EXPECT_EQ(rows[64], stored[second * 64]) << architecture;
    EXPECT_EQ(rows == stored, architecture == "qwen3");
  }
}

TEST(ReadGguf, frequencyDivisorsOfLlama31AreARopeOfTheirOwn) {
  GgufBuilder builder = smallLlama();
  std::string divisors;
  for (int i = 0; i < 32; ++i)
    divisors += raw(1 + float(i) / 4);
  builder.tensors.push_back({"rope_freqs.weight", {32}, tF32, divisors});
  const Written written(builder);
  const RopeDesc rope = readGguf(written.path()).desc.ropes.at("main");
  EXPECT_EQ(rope.type, "divided");
  ASSERT_EQ(rope.divisors.size(), 32u);
  EXPECT_EQ(rope.divisors[5], 2.25);
  EXPECT_THAT(refusal(builder, [](GgufBuilder &b) { b.real("llama.rope.scaling.factor", 2); }),
              HasSubstr("together with rope scaling of type linear"));
  EXPECT_THAT(refusal(builder, [](GgufBuilder &b) { b.at("rope_freqs.weight").dimensions = {16}; }),
              HasSubstr("expected 32 numbers"));
}

TEST(ReadGguf, expertsOfOlderFilesAreATensorEach) {
  const GgufBuilder stacked = smallRelative("llama");
  GgufBuilder builder = stacked, copy = stacked;
  for (const std::string b : {"blk.0.", "blk.1."})
    for (const std::string linear : {"ffn_gate", "ffn_up", "ffn_down"}) {
      const GgufBuilder::Tensor all = copy.at(b + linear + "_exps.weight");
      builder.removeTensor(all.name);
      const size_t bytes = all.bytes.size() / 4;
      for (size_t expert = 0; expert < 4; ++expert)
        builder.tensors.push_back({b + linear + "." + std::to_string(expert) + ".weight",
                                   {all.dimensions[0], all.dimensions[1]},
                                   tF32,
                                   all.bytes.substr(expert * bytes, bytes)});
    }
  const Written newer(stacked), older(builder);
  for (const char *weight : {"layers.1.moe.gate_up.weight", "layers.1.moe.down.weight"})
    EXPECT_EQ(rowsOf(readGguf(older.path()), weight), rowsOf(readGguf(newer.path()), weight));
}

TEST(ReadGguf, convertedTypesAreNamedInTheNotesAndReadAsTheirValues) {
  std::mt19937_64 random(5);
  GgufBuilder builder = smallLlama();
  builder.remove("tokenizer.ggml.add_bos_token");
  builder.tensor("output.weight", {256, 8}, tQ6_K, random);
  for (const std::string b : {"blk.0.", "blk.1."})
    builder.at(b + "attn_q.weight") = {
        b + "attn_q.weight", {256, 256}, tQ4_K, randomTensor(tQ4_K, 65536, random)};
  builder.at("blk.1.attn_v.weight") = {
      "blk.1.attn_v.weight", {256, 128}, tQ5_K, randomTensor(tQ5_K, 32768, random)};
  const Written written(builder);
  const GgufModel model = readGguf(written.path());
  EXPECT_THAT(model.notes,
              ElementsAre(testing::AllOf(HasSubstr("Q4_K"), HasSubstr("blk.1.attn_q.weight")),
                          testing::AllOf(HasSubstr("Q5_K"), HasSubstr("blk.1.attn_v.weight")),
                          testing::AllOf(HasSubstr("Q6_K"), HasSubstr("output.weight"))));
  for (const WeightDecl &decl : weightDecls(model.desc)) {
    std::vector<float> rows(decl.rows * decl.columns);
    readRowsF32(decl, *model.weights, 0, 0, decl.rows, rows.data());
    const bool layer1 = decl.name == "layers.1.attention.v.weight"; // layers may differ
    if (layer1 || decl.name == "layers.0.attention.v.weight") {
      EXPECT_EQ(decl.parts[0].stored, layer1 ? WeightFormat::F32 : WeightFormat::INT8);
    }
  }
}

TEST(ReadGguf, theWeightsOpenAgainForTheSameDeclarationsAndNoOthers) {
  const Written written(smallLlama());
  std::vector<WeightDecl> decls = weightDecls(readGguf(written.path()).desc);
  EXPECT_NO_THROW(openGgufWeights(written.path(), decls));
  decls[3].parts[0].stored = WeightFormat::F32;
  EXPECT_THAT(badInput([&] { openGgufWeights(written.path(), decls); }), HasSubstr("1 mismatched"));
}

TEST(ReadGguf, filesThatAreNoWholeModelAreRefused) {
  const auto text = [](const char *key, const char *value) {
    return llamaRefusal([=](GgufBuilder &b) { b.text(key, value); });
  };
  EXPECT_THAT(text("general.architecture", "mamba"), HasSubstr("known: gpt-oss, llama, qwen2"));
  EXPECT_THAT(text("general.type", "adapter"), HasSubstr("expected \"model\""));
  EXPECT_THAT(llamaRefusal([](GgufBuilder &b) { b.number("split.count", 3); }),
              HasSubstr("join the parts"));
  EXPECT_THAT(llamaRefusal([](GgufBuilder &b) { b.number("general.quantization_version", 1); }),
              HasSubstr("expected 2"));
  EXPECT_THAT(llamaRefusal([](GgufBuilder &b) { b.remove("general.architecture"); }),
              HasSubstr("general.architecture\" is missing"));
}

TEST(ReadGguf, keysThatWouldChangeTheModelAreReadOrRefusedByName) {
  const auto number = [](const std::string &key, uint32_t value) {
    return llamaRefusal([=](GgufBuilder &b) { b.number("llama." + key, value); });
  };
  const auto real = [](const std::string &key, float value) {
    return llamaRefusal([=](GgufBuilder &b) { b.real("llama." + key, value); });
  };
  EXPECT_THAT(number("block_count", 0), HasSubstr("is 0"));
  EXPECT_THAT(number("block_count", 100000), HasSubstr("expected 1 to 1024"));
  EXPECT_THAT(number("attention.head_count", 3), HasSubstr("divisor of embedding_length"));
  EXPECT_THAT(number("attention.head_count_kv", 3), HasSubstr("kv_heads"));
  EXPECT_THAT(number("attention.value_length", 32),
              testing::AllOf(HasSubstr("value_length"), HasSubstr("expected"), HasSubstr("Use a")));
  EXPECT_THAT(number("rope.dimension_count", 32), HasSubstr("rope.dimension_count"));
  EXPECT_THAT(number("vocab_size", 9), HasSubstr("expected the 8 rows"));
  EXPECT_THAT(number("expert_count", 8), HasSubstr("expert_used_count"));
  EXPECT_THAT(number("context_length", 0), HasSubstr("context_length"));
  EXPECT_THAT(real("rope.scaling.factor", 0.5f), HasSubstr("factor"));
  EXPECT_THAT(llamaRefusal([](GgufBuilder &b) {
                b.real("llama.rope.scaling.factor", 2).real("llama.rope.scale_linear", 4);
              }),
              HasSubstr("scale_linear"));
  EXPECT_THAT(real("attention.scale", 0.1f), HasSubstr("\"llama.attention.scale\""));
  EXPECT_THAT(real("attention.layer_norm_rms_epsilon", 0), HasSubstr("norm_eps"));
  EXPECT_THAT(real("rope.freq_base", std::nanf("")), HasSubstr("finite"));
  EXPECT_THAT(
      llamaRefusal([](GgufBuilder &b) { b.text("llama.rope.scaling.type", "longrope"); }),
      testing::AllOf(HasSubstr("\"longrope\", which is not implemented; expected none, linear "
                               "or yarn"),
                     HasSubstr("Use the model's checkpoint")));
  EXPECT_THAT(real("rope.scaling.attn_factor", 2),
              testing::AllOf(HasSubstr("is 2, which is not implemented; expected 1"),
                             HasSubstr("bring-your-own-model.md")));
  EXPECT_THAT(llamaRefusal([](GgufBuilder &b) { b.text("llama.block_count", "2"); }),
              HasSubstr("of type string"));
  EXPECT_THAT(llamaRefusal([](GgufBuilder &b) { b.remove("llama.embedding_length"); }),
              HasSubstr("is missing"));
}

TEST(ReadGguf, tensorsThatDoNotFitAreListed) {
  EXPECT_THAT(llamaRefusal([](GgufBuilder &b) { b.removeTensor("blk.1.ffn_up.weight"); }),
              HasSubstr("1 missing: blk.1.ffn_up.weight"));
  EXPECT_THAT(llamaRefusal([](GgufBuilder &b) { b.removeTensor("token_embd.weight"); }),
              HasSubstr("found none"));
  EXPECT_THAT(llamaRefusal([](GgufBuilder &b) { b.number("llama.feed_forward_length", 256); }),
              HasSubstr("mismatched"));
  const auto extra = [](const std::string &name) {
    return llamaRefusal([&](GgufBuilder &b) {
      std::mt19937_64 random(6);
      b.tensor(name, {32}, tF32, random);
    });
  };
  EXPECT_THAT(extra("rope_freqs.weight"), HasSubstr("divisors: expected a positive"));
  EXPECT_THAT(extra("blk.0.attn_q_norm.weight"),
              HasSubstr("1 extra: \"blk.0.attn_q_norm.weight\""));
  EXPECT_THAT(llamaRefusal([](GgufBuilder &b) { b.number("llama.attention.key_length", 128); }),
              HasSubstr("is 64"));
}

TEST(ReadGguf, aTokenizerThatIsNotReadIsRefusedUnlessTheModelGoesWithout) {
  GgufBuilder builder = smallLlama();
  builder.text("tokenizer.ggml.model", "t5");
  const Written written(builder);
  EXPECT_THAT(badInput([&] { readGguf(written.path()); }),
              testing::AllOf(HasSubstr("\"t5\""), HasSubstr("--no-tokenizer")));
  const GgufModel model = readGguf(written.path(), {.tokenizer = false});
  EXPECT_EQ(model.tokenizerJson, "");
  EXPECT_THAT(model.notes, testing::Contains(HasSubstr("token ids only")));
}

/// Reads everything there is: an Error of bad input or nothing, never a crash.
bool readsEverything(const std::string &path) {
  try {
    const GgufModel model = readGguf(path);
    for (const WeightDecl &decl : weightDecls(model.desc)) {
      std::vector<float> row(decl.columns);
      readRowsF32(decl, *model.weights, decl.experts - 1, decl.rows - 1, 1, row.data());
    }
    return true;
  } catch (const Error &error) {
    EXPECT_EQ(error.code, ErrorCode::BadInput) << error.what();
    return false;
  }
}

#ifdef __SANITIZE_ADDRESS__
constexpr size_t cutStep = 3; // of a header; ten times as slow
#else
constexpr size_t cutStep = 1;
#endif

void expectEveryCutIsRefused(const GgufBuilder &builder) {
  const Written written(builder);
  const std::string whole = builder.file();
  const size_t header = builder.header().size();
  EXPECT_TRUE(readsEverything(written.path()));
  for (size_t size = whole.size(); size-- > 0;) {
    if (size > header ? size % 997 != 0 : size % cutStep != 0)
      continue; // inside the data every byte is like another
    std::filesystem::resize_file(written.path(), size);
    EXPECT_FALSE(readsEverything(written.path())) << "cut to " << size << " bytes";
  }
}

TEST(ReadGguf, aGptOssModelCutAnywhereIsRefused) { expectEveryCutIsRefused(smallGptOss()); }

TEST(ReadGguf, aLlamaModelCutAnywhereIsRefused) { expectEveryCutIsRefused(smallLlama()); }

TEST(ReadGguf, aFlippedByteIsAnErrorOrAnotherModelNeverACrash) {
  constexpr uint64_t seed = 20240615;
  std::mt19937_64 random(seed);
  for (const GgufBuilder &builder : {smallGptOss(), smallLlama()}) {
    const Written written(builder);
    const std::string whole = builder.file();
    const uint64_t header = builder.header().size();
    int refused = 0;
    for (int i = 0; i < 4000; ++i) {
      const uint64_t at = i % 20 == 0 ? random() % whole.size() : random() % header;
      const char byte = char(random());
      SCOPED_TRACE(fmt::format("seed {}, byte {} to {}", seed, at, int(byte)));
      std::fstream file(written.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(std::streamoff(at)).put(byte).flush();
      refused += !readsEverything(written.path());
      file.seekp(std::streamoff(at)).put(whole[at]).flush();
    }
    EXPECT_GT(refused, 1000); // most bytes of a header matter
    EXPECT_TRUE(readsEverything(written.path()));
  }
}

TEST(ReadGguf, storiesHaveTheWeightsOfTheirSafetensors) {
  if (!std::filesystem::exists(inSource("../shared")))
    GTEST_SKIP() << "the ../shared folder is not here";
  const std::string folder = inSource("../shared/models/stories260K");
  const GgufModel model = readGguf(folder + "/stories260K.gguf", {.tokenizer = false});
  const auto checkpoint = Checkpoint::open(folder);
  EXPECT_EQ(model.desc.vocabulary, 512u);
  EXPECT_EQ(model.desc.bosToken, 1);
  EXPECT_THAT(model.desc.eosTokens, ElementsAre(2));
  const auto expect = [&](const std::string &weight, const std::vector<std::string> &tensors) {
    std::vector<float> expected;
    for (const std::string &tensor : tensors) {
      const auto bytes = checkpoint->data(tensor);
      const size_t before = expected.size();
      expected.resize(before + bytes.size() / 4);
      std::memcpy(expected.data() + before, bytes.data(), bytes.size());
    }
    EXPECT_EQ(rowsOf(model, weight), expected) << weight;
  };
  expect("embedding.weight", {"model.embed_tokens.weight"});
  expect("final_norm.weight", {"model.norm.weight"});
  for (int layer = 0; layer < 5; ++layer) {
    const std::string weight = fmt::format("layers.{}.", layer);
    const std::string tensor = fmt::format("model.layers.{}.", layer);
    for (const std::string linear : {"q", "k", "v", "o"})
      expect(weight + "attention." + linear + ".weight",
             {tensor + "self_attn." + linear + "_proj.weight"});
    expect(weight + "attention.norm.weight", {tensor + "input_layernorm.weight"});
    expect(weight + "mlp.norm.weight", {tensor + "post_attention_layernorm.weight"});
    expect(weight + "mlp.gate_up.weight",
           {tensor + "mlp.gate_proj.weight", tensor + "mlp.up_proj.weight"});
    expect(weight + "mlp.down.weight", {tensor + "mlp.down_proj.weight"});
  }
}

} // namespace
} // namespace inf
