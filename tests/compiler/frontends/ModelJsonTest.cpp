// model.json: what is read, what is refused and where, and that writing is the inverse of reading.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

#include <gmock/gmock.h>

#include "compiler/frontends/JsonReader.h"
#include "tests/compiler/frontends/TestModels.h"

namespace inf::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using JsonPointer = nlohmann::json::json_pointer;

std::string tinyText() { return readJsonFile(inSource("models/gpt-oss-tiny.json")); }
nlohmann::json tinyJson() { return nlohmann::json::parse(tinyText()); }

ModelDesc parse(const nlohmann::json &json) { return parseModelJson(json.dump(), "/models"); }

/// The message after the value at `pointer` was replaced.
std::string refusal(const std::string &pointer, const nlohmann::json &value) {
  nlohmann::json json = tinyJson();
  json[JsonPointer(pointer)] = value;
  return badInput([&] { parse(json); });
}

std::string refusalWithout(const std::string &pointer) {
  nlohmann::json json = tinyJson();
  JsonPointer at(pointer);
  json[at.parent_pointer()].erase(at.back());
  return badInput([&] { parse(json); });
}

TEST(ModelJson, writingIsTheInverseOfReading) {
  ModelDesc tiny = parse(tinyJson());
  std::string text = writeModelJson(tiny, "/models");
  EXPECT_EQ(parseModelJson(text, "/models"), tiny);
  EXPECT_EQ(writeModelJson(parseModelJson(text, "/models"), "/models"), text);
}

TEST(ModelJson, writesADenseModelSoThatItReadsBack) {
  ModelDesc desc = denseModel();
  RopeDesc &yarn = desc.ropes["yarn"];
  yarn.type = "yarn";
  yarn.factor = 4;
  yarn.betaFast = 16;
  yarn.betaSlow = 2;
  yarn.originalContext = 1024;
  yarn.attentionFactor = 1.25;
  desc.blocks["layer"].attention.window = 64;
  desc.blocks["layer"].attention.rope = "yarn";
  desc.blocks["layer"].mlp->activation = {"swiglu_clamped", 5, 1.5};
  desc.tensors["layers.1.attention.q.weight"].parts = {
      {"half", "", WeightFormat::F16, 32, true, false}};
  desc.weightsDirectory = "/weights/dense";
  desc.tokenizerPath = "/weights/dense/tokenizer.json";
  desc.chatTemplatePath = "/weights/dense/chat_template.jinja";
  desc.eosTokens = {1, 2};
  desc.bosToken = 0;
  EXPECT_EQ(parseModelJson(writeModelJson(desc, "/weights"), "/weights"), desc);
  EXPECT_EQ(parseModelJson(writeModelJson(desc, "/elsewhere"), "/elsewhere"), desc);
}

TEST(ModelJson, writesPathsRelativeSoThatFileAndWeightsMoveTogether) {
  ModelDesc tiny = parse(tinyJson());
  EXPECT_EQ(tiny.weightsDirectory, "/models/gpt-oss-tiny");
  auto written = nlohmann::json::parse(writeModelJson(tiny, "/models"));
  EXPECT_EQ(written["weights"]["directory"], "gpt-oss-tiny");
  EXPECT_EQ(written["tokenizer"], "gpt-oss-tiny/tokenizer.json");
}

TEST(ModelJson, refusesToWriteAnInvalidDescription) {
  ModelDesc desc = denseModel();
  desc.normEps = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(badInput([&] { writeModelJson(desc, "."); }), HasSubstr("norm_eps"));
}

TEST(ModelJson, readsTheCompactFormOfLayersLikeTheList) {
  nlohmann::json json = tinyJson();
  json["layers"] = {"sliding", "full", "sliding", "full", "sliding", "full"};
  EXPECT_EQ(parse(json), parse(tinyJson()));
}

TEST(ModelJson, readsPartsOfATensorAsAnArray) {
  nlohmann::json json = tinyJson();
  json["tensors"]["lm_head.weight"] = {"a", {{"tensor", "b"}, {"stored", "f32"}, {"rows", 96}}};
  auto parts = parse(json).tensors.at("lm_head.weight").parts;
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].tensor, "a");
  EXPECT_EQ(parts[1].stored, WeightFormat::F32);
  EXPECT_EQ(parts[1].rows, 96u);
}

TEST(ModelJson, readsTheExampleOfTheDocumentation) {
  std::ifstream file(inSource("docs/model-json.md"));
  std::string document{std::istreambuf_iterator<char>(file), {}};
  size_t begin = document.find("```json\n");
  ASSERT_NE(begin, std::string::npos);
  begin += 8;
  std::string example = document.substr(begin, document.find("```", begin) - begin);
  EXPECT_FALSE(weightDecls(parseModelJson(example, "/models")).empty());
}

TEST(ModelJson, refusesAnUnknownKeyAndSuggestsTheNearest) {
  EXPECT_THAT(refusal("/vocab", 3), HasSubstr("vocab: unknown key"));
  EXPECT_THAT(refusal("/blocks/full/attention/head_dims", 3),
              AllOf(HasSubstr("blocks.full.attention.head_dims: unknown key"),
                    HasSubstr("did you mean \"head_dim\"")));
  EXPECT_THAT(refusal("/blocks/full/moe/topk", 3), HasSubstr("did you mean \"top_k\""));
  EXPECT_THAT(refusal("/ropes/main/truncat", true), HasSubstr("did you mean \"truncate\""));
  EXPECT_THAT(refusal("/weights/dir", "x"), HasSubstr("known here: directory"));
}

TEST(ModelJson, refusesAYarnKeyInADefaultRope) {
  EXPECT_THAT(refusal("/ropes/main", {{"type", "default"}, {"factor", 32}}),
              HasSubstr("ropes.main.factor: unknown key"));
}

TEST(ModelJson, saysExpectedAndFoundForAWrongType) {
  EXPECT_THAT(refusal("/blocks/sliding/attention/heads", "eight"),
              HasSubstr("model.json: blocks.sliding.attention.heads: expected a whole number of at "
                        "least 0, found the string \"eight\""));
  EXPECT_THAT(refusal("/hidden", 1.5), HasSubstr("hidden: expected a whole number"));
  EXPECT_THAT(refusal("/hidden", nullptr), HasSubstr("found null"));
  EXPECT_THAT(refusal("/norm_eps", "small"), HasSubstr("norm_eps: expected a number"));
  EXPECT_THAT(refusal("/tied_embeddings", 0), HasSubstr("expected true or false, found 0"));
  EXPECT_THAT(refusal("/layers", 3), HasSubstr("layers: expected an array"));
  EXPECT_THAT(refusal("/layers", {"full", 3}), HasSubstr("layers[1]: expected a string, found 3"));
  EXPECT_THAT(refusal("/blocks", nlohmann::json::array()), HasSubstr("expected an object"));
  EXPECT_THAT(refusal("/tensors/lm_head.weight", 7),
              HasSubstr("tensors[\"lm_head.weight\"]: expected a tensor's name or an object"));
}

TEST(ModelJson, refusesAMissingKeyByName) {
  for (const char *key : {"/format", "/version", "/name", "/vocabulary", "/hidden", "/max_context",
                          "/ropes", "/blocks", "/layers", "/tensors", "/ropes/main/factor",
                          "/blocks/full/attention/head_dim", "/blocks/full/moe/top_k"})
    EXPECT_THAT(refusalWithout(key),
                AllOf(HasSubstr("missing"), HasSubstr(JsonPointer(key).back())));
}

TEST(ModelJson, refusesNegativeZeroAndHugeDimensions) {
  EXPECT_THAT(refusal("/hidden", -192), HasSubstr("found -192"));
  EXPECT_THAT(refusal("/hidden", 0), HasSubstr("hidden: expected 1 to"));
  EXPECT_THAT(refusal("/hidden", UINT64_MAX), HasSubstr("hidden: expected 1 to"));
  EXPECT_THAT(refusal("/hidden", 1e30), HasSubstr("hidden: expected a whole number"));
  EXPECT_THAT(refusal("/bos_token", -1), HasSubstr("bos_token"));
  EXPECT_THAT(refusal("/eos_tokens", {4096}), HasSubstr("eos_tokens[0]"));
  EXPECT_THAT(refusal("/layers/repeat", UINT64_MAX), HasSubstr("layers: expected 1 to 1024"));
  EXPECT_THAT(refusal("/layers/repeat", 0), HasSubstr("layers: expected 1 to 1024"));
}

TEST(ModelJson, blocksOfAGgufFileKeepTheirFormat) {
  ModelDesc desc = denseModel();
  for (WeightFormat format :
       {WeightFormat::MXFP4, WeightFormat::INT8, WeightFormat::INT4, WeightFormat::INT4A}) {
    desc.tensors["layers.{layer}.attention.q.weight"].parts = {{"q", "", format, 0, false, false}};
    EXPECT_EQ(parseModelJson(writeModelJson(desc, "/models"), "/models"), desc)
        << weightFormatName(format);
  }
}

TEST(ModelJson, refusesOtherFormatsAndVersions) {
  EXPECT_THAT(refusal("/format", "onnx"), HasSubstr("expected \"inf-model\", found \"onnx\""));
  EXPECT_THAT(refusal("/version", 2), HasSubstr("version: expected 1, found 2"));
  EXPECT_THAT(badInput([] { parse(publishedConfig()); }),
              HasSubstr("give the checkpoint's directory"));
}

TEST(ModelJson, refusesUnknownNamesOfTypes) {
  EXPECT_THAT(refusal("/ropes/main/type", "mrope"), HasSubstr("known: default, linear"));
  EXPECT_THAT(refusal("/blocks/full/moe/activation", "gelu"),
              HasSubstr("unknown activation \"gelu\"; known: swiglu, swiglu_clamped"));
  EXPECT_THAT(refusal("/blocks/full/moe/activation/type", "gelu"),
              HasSubstr("unknown activation \"gelu\""));
  EXPECT_THAT(refusal("/stored", "q8"), HasSubstr("unknown storage \"q8\"; known: f32, f16, bf16"));
  EXPECT_THAT(refusal("/stored", "mxfp4"), HasSubstr("as \"blocks\" and \"scales\""));
  EXPECT_THAT(refusal("/layers/pattern/0", "slide"), HasSubstr("unknown block \"slide\""));
}

TEST(ModelJson, refusesAKeyGivenTwice) {
  EXPECT_THAT(badInput([] { parseModelJson(R"({"name": "a", "name": "b"})", "."); }),
              HasSubstr("\"name\" is given twice"));
}

TEST(ModelJson, refusesATextCutAnywhere) {
  std::string text = tinyText();
  text.erase(text.find_last_of('}') + 1);
  for (size_t length = 0; length < text.size(); length += 7)
    EXPECT_THAT(badInput([&] { parseModelJson(text.substr(0, length), "."); }),
                HasSubstr("not valid JSON"));
}

TEST(ModelJson, refusesDeepNestingWithoutRecursion) {
  for (std::string open : {"[", "{\"a\":"}) {
    std::string text;
    for (int i = 0; i < 1000000; ++i)
      text += open;
    EXPECT_THAT(badInput([&] { parseModelJson(text, "."); }), HasSubstr("nested deeper"));
  }
}

TEST(ModelJson, refusesTextThatIsNotUtf8OrBeyondADouble) {
  EXPECT_THAT(badInput([] { parseModelJson("{\"name\": \"\xff\xfe\"}", "."); }),
              HasSubstr("not valid JSON"));
  EXPECT_THAT(badInput([] { parseModelJson("{\"norm_eps\": 1e999}", "."); }),
              HasSubstr("not valid JSON"));
}

TEST(ModelJson, keepsMessagesShortWhateverTheFileHolds) {
  std::string huge(1 << 20, 'x');
  EXPECT_LT(badInput([&] { parseModelJson("{\"" + huge + "\" 1", "."); }).size(), 1000u);
  EXPECT_LT(badInput([&] { parseModelJson("{\"a\": " + huge, "."); }).size(), 1000u);
  EXPECT_LT(refusal("/" + huge, 1).size(), 1000u);
  EXPECT_LT(refusal("/hidden", huge).size(), 1000u);
  EXPECT_LT(refusal("/name", huge).size(), 1000u);
  EXPECT_LT(refusal("/layers/pattern", {huge}).size(), 1000u);
  EXPECT_LT(refusal("/name", "a\nb").size(), 1000u);
  EXPECT_THAT(refusal("/name", "a\nb"), Not(HasSubstr("\n")));
}

TEST(ModelJson, survivesChangedBytes) {
  const unsigned seed = 20240817;
  std::cout << "seed " << seed << "; repeat: frontends_tests --gtest_filter='*ChangedBytes'\n";
  std::mt19937 random(seed);
  std::string text = tinyText();
  for (int i = 0; i < 2000; ++i) {
    std::string changed = text;
    for (int k = 0; k < 3; ++k)
      changed[random() % changed.size()] = "0123456789-.eE\"{}[]:,x\\\x80"[random() % 23];
    try {
      weightDecls(parseModelJson(changed, "/models"));
    } catch (const Error &error) {
      EXPECT_EQ(static_cast<int>(error.code), static_cast<int>(ErrorCode::BadInput));
    }
  }
}

TEST(ModelJson, refusesFilesThatAreMissingTooLargeOrNoFiles) {
  TempDir directory;
  errorOf(ErrorCode::Io, [&] { readModelJson(directory.file("none.json")); });
  errorOf(ErrorCode::Io, [&] { readModel(directory.file("none")); });
  directory.write("large.json", std::string((4 << 20) + 1, ' '));
  EXPECT_THAT(badInput([&] { readModelJson(directory.file("large.json")); }), HasSubstr("larger"));
  EXPECT_THAT(badInput([&] { readModelJson(directory.path()); }), HasSubstr("not a file"));
  directory.write("model.gguf", "GGUF");
  EXPECT_THAT(badInput([&] { readModel(directory.file("model.gguf")); }), HasSubstr(".gguf"));
}

} // namespace
} // namespace inf::test
