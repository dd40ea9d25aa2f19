// checkModel(): every problem is named, and one hides no other.
#include "compiler/check/Check.h"

#include <cstring>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "tests/compiler/frontends/GgufBuilder.h"
#include "tests/compiler/frontends/TestModels.h"

namespace inf::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// "area: text" of each problem, a line each.
std::string problemsOf(const std::string &path, bool values = true) {
  CheckOptions options;
  options.values = values;
  options.threads = 2;
  std::string text;
  for (const ModelProblem &problem : checkModel(path, options).problems)
    text += problem.area + ": " + problem.text + "\n";
  return text;
}

class CheckModel : public testing::Test {
protected:
  void SetUp() override {
    config["vocab_size"] = 300;
    directory.write("config.json", config.dump());
    directory.write("tokenizer.json", tokenizer().dump());
    writeZeroCheckpoint(directory, weightDecls(importHuggingFace(directory.path())));
    directory.write("chat_template.jinja", "{{ messages }}");
  }

  /// All single bytes, nothing merged.
  static json tokenizer() {
    std::ifstream file(inSource("models/gpt-oss-tiny/tokenizer.json"));
    return json::parse(file);
  }

  void writeConfig(const std::function<void(json &)> &change) {
    change(config);
    directory.write("config.json", config.dump());
  }

  /// Overwrites bytes of one tensor of model.safetensors.
  void overwrite(const std::string &tensor, uint64_t offset, const std::string &bytes) {
    std::string path = directory.file("model.safetensors");
    uint64_t place = SafetensorsFile::open(path).find(tensor)->offset + offset;
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(std::streamoff(place));
    file << bytes;
  }

  /// Moves the single file to two shards' names with an index that says `places`.
  void shard(const json &places) {
    std::filesystem::rename(directory.file("model.safetensors"), directory.file("a.safetensors"));
    directory.write("model.safetensors.index.json", json{{"weight_map", places}}.dump());
  }

  TempDir directory;
  json config = smallConfig();
};

TEST(CheckSmallModel, hasNoProblemsAndAllItsValuesWereLookedAt) {
  CheckOptions options;
  uint64_t lastDone = 0, lastTotal = 1;
  options.progress = [&](uint64_t done, uint64_t total) { lastDone = done, lastTotal = total; };
  ModelReport report = checkModel(inSource("models/gpt-oss-tiny"), options);
  EXPECT_THAT(report.problems, IsEmpty()) << reportText(report);
  EXPECT_GT(report.valuesChecked, 100000u);
  EXPECT_EQ(lastDone, report.valuesChecked);
  EXPECT_EQ(lastTotal, lastDone);
  EXPECT_THAT(reportText(report), HasSubstr("no problems"));
  EXPECT_EQ(json::parse(reportJson(report))["problems"], json::array());
  EXPECT_EQ(problemsOf(inSource("models/gpt-oss-tiny.json")), "");
}

TEST_F(CheckModel, nothingThereIsAnIoError) {
  EXPECT_THAT(errorOf(ErrorCode::Io, [&] { checkModel(directory.file("none"), {}); }),
              HasSubstr("no such file"));
}

TEST_F(CheckModel, aFitCheckpointOfSmallShapesHasOnlyItsTokenizerWrong) {
  EXPECT_THAT(problemsOf(directory.path()),
              AllOf(HasSubstr("tokenizer: "), HasSubstr("the model's vocabulary has 300 rows")));
}

TEST_F(CheckModel, oneProblemHidesNoOther) {
  writeConfig([](json &c) {
    c.erase("hidden_size");
    c.erase("head_dim");
    c["num_attention_heads"] = "four";
  });
  json unigram = tokenizer();
  unigram["model"]["type"] = "Unigram";
  directory.write("tokenizer.json", unigram.dump());
  directory.write("chat_template.jinja", "\xff");
  std::filesystem::resize_file(directory.file("model.safetensors"), 1000);
  EXPECT_THAT(problemsOf(directory.path()),
              AllOf(HasSubstr("description: "), HasSubstr("config.json: hidden_size: missing"),
                    HasSubstr("config.json: head_dim: missing"),
                    HasSubstr("num_attention_heads: expected a whole number"),
                    HasSubstr("tokenizer: "), HasSubstr("Unigram"), HasSubstr("shards: "),
                    HasSubstr("chat template: "), HasSubstr("not UTF-8 at byte 0")));
}

TEST_F(CheckModel, missingExtraAndMismatchedTensorsAreListedByNameWithTheirCount) {
  writeConfig([](json &c) {
    c["num_hidden_layers"] = 3;
    c["layer_types"].push_back("sliding_attention");
    c["vocab_size"] = 301;
    c["attention_bias"] = false;
  });
  EXPECT_THAT(problemsOf(directory.path()),
              AllOf(HasSubstr("tensors: "), HasSubstr(" missing: model.layers.2."),
                    HasSubstr("more"), // after ten names
                    HasSubstr("8 extra: model.layers.0.self_attn.k_proj.bias"),
                    HasSubstr("2 mismatched: lm_head.weight (expected BF16 [301, 64], found BF16 "
                              "[300, 64])")));
}

TEST_F(CheckModel, nanAndInfinityAreNamedByTensorAndIndexInEveryWeight) {
  overwrite("model.norm.weight", 2 * 5, "\xc0\x7f");                              // bf16 NaN
  overwrite("model.layers.1.self_attn.sinks", 2 * 3, std::string("\x80\xff", 2)); // -infinity
  overwrite("model.layers.0.mlp.experts.down_proj_scales", 7, "\xff");            // E8M0 NaN
  std::string all = problemsOf(directory.path());
  EXPECT_THAT(all, AllOf(HasSubstr("tensor 'model.norm.weight' has nan at index 5"),
                         HasSubstr("tensor 'model.layers.1.self_attn.sinks' has -inf at index 3"),
                         HasSubstr("'model.layers.0.mlp.experts.down_proj_scales' has scale byte "
                                   "255 (NaN) at index 7")));
  EXPECT_THAT(problemsOf(directory.path(), false), Not(HasSubstr("values: ")));
}

TEST_F(CheckModel, theReportDoesNotDependOnThreads) {
  overwrite("model.norm.weight", 0, "\xc0\x7f");
  overwrite("lm_head.weight", 64, "\xc0\x7f");
  overwrite("model.embed_tokens.weight", 64, "\xc0\x7f");
  CheckOptions one, eight;
  eight.threads = 8;
  EXPECT_EQ(reportJson(checkModel(directory.path(), one)),
            reportJson(checkModel(directory.path(), eight)));
}

TEST_F(CheckModel, everyInconsistencyOfTheIndexIsNamed) {
  std::vector<std::string> names;
  SafetensorsFile file = SafetensorsFile::open(directory.file("model.safetensors"));
  for (const TensorInfo &tensor : file.tensors())
    names.push_back(tensor.name);
  json places;
  for (const std::string &name : names)
    places[name] = "a.safetensors";
  places.erase("lm_head.weight");
  places["extra"] = "a.safetensors";
  places["outside"] = "../a.safetensors";
  places["gone"] = "gone.safetensors";
  places["twice"] = "b.safetensors";
  shard(places);
  const uint8_t byte = 0;
  writeSafetensors(directory.file("b.safetensors"),
                   {{"model.norm.weight", DType::U8, {1}, {&byte, 1}}});
  EXPECT_THAT(problemsOf(directory.path()),
              AllOf(HasSubstr("tensor \"outside\" is said to be in"),
                    HasSubstr("gone.safetensors is missing"),
                    HasSubstr("2 tensors of the index are not in their file: \"extra\" (in "
                              "a.safetensors), \"twice\" (in b.safetensors)"),
                    HasSubstr("1 tensors are in two files: \"model.norm.weight\" (in "
                              "a.safetensors and b.safetensors)"),
                    HasSubstr("1 tensors are not in the index: \"lm_head.weight\"")));
}

TEST_F(CheckModel, aDirectoryWithoutWeightsOrTokenizerSaysBoth) {
  std::filesystem::remove(directory.file("model.safetensors"));
  std::filesystem::remove(directory.file("tokenizer.json"));
  EXPECT_THAT(problemsOf(directory.path()),
              AllOf(HasSubstr("the weights are missing"), HasSubstr("tokenizer: ")));
}

TEST_F(CheckModel, everyUnknownKeyOfAModelJsonIsNamed) {
  json description = json::parse(writeModelJson(denseModel(), directory.path()));
  description["colour"] = 1;
  description["blocks"]["layer"]["attention"]["heds"] = 2;
  description.erase("hidden");
  directory.write("m.json", description.dump());
  EXPECT_THAT(problemsOf(directory.file("m.json")),
              AllOf(HasSubstr("colour: unknown key"), HasSubstr("heds: unknown key"),
                    HasSubstr("hidden: missing")));
}

TEST_F(CheckModel, aGgufFileHasItsValuesAndTokenizerLookedAtApart) {
  GgufBuilder file = smallGptOss();
  file.at("output_norm.weight").bytes.replace(4 * 9, 4, raw(std::stof("nan")));
  file.text("tokenizer.ggml.model", "wordpiece");
  directory.write("m.gguf", file.file());
  EXPECT_THAT(problemsOf(directory.file("m.gguf")),
              AllOf(HasSubstr("values: weight 'final_norm.weight': tensor 'output_norm.weight' has "
                              "nan at index 9"),
                    HasSubstr("tokenizer: "), HasSubstr("tokenizer.ggml.model")));
}

TEST_F(CheckModel, aGgufBlockWhoseScaleIsInfiniteIsNamed) {
  GgufBuilder file = smallLlama();
  std::string name = "blk.0.ffn_down.weight";
  ASSERT_EQ(file.at(name).type, uint32_t(tQ8_0));
  file.at(name).bytes.replace(34 * 3, 2, std::string("\x00\x7c", 2)); // f16 infinity, block 3
  directory.write("m.gguf", file.file());
  EXPECT_THAT(problemsOf(directory.file("m.gguf")), AllOf(HasSubstr(name), HasSubstr("3")));
}

TEST_F(CheckModel, aDamagedGgufFileIsOneProblem) {
  directory.write("m.gguf", smallGptOss().file().substr(0, 200));
  EXPECT_THAT(problemsOf(directory.file("m.gguf")), HasSubstr("description: "));
}

} // namespace
} // namespace inf::test
