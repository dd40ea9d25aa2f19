// infrun score on the real model.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/format/Safetensors.h"
#include "tests/e2e/Models.h"
#include "tests/e2e/Sessions.h"
#include "tests/e2e/Tolerances.h"
#include "tests/runtime/format/TestSupport.h"

using namespace inf;
using namespace inf::test;

TEST(Score, logitsFileHoldsEveryTokensLogitsOfEveryLine) {
  const TempFolder folder;
  const std::string model = tinyExact("avx2");
  const std::vector<std::vector<int32_t>> sequences = {{491, 475, 258, 420, 11}, {1024, 267}};
  writeBytes(folder / "ids.jsonl",
             std::string("{\"ids\": [491, 475, 258, 420, 11]}\n{\"ids\": [1024, 267]}\n"));
  const Finished finished = infrun({"score", model, "--ids", folder / "ids.jsonl", "--logits",
                                    folder / "logits.safetensors", "--json"});
  ASSERT_EQ(finished.code, 0) << finished.err;
  const auto file = SafetensorsFile::open(folder / "logits.safetensors");
  ASSERT_EQ(file.tensors().size(), 2u);
  for (size_t line = 0; line < 2; ++line) {
    const TensorInfo *tensor = file.find("line" + std::to_string(line) + ".logits");
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->dtype, DType::F32);
    EXPECT_EQ(tensor->shape, (std::vector<uint64_t>{sequences[line].size(), 4096}));
    const AllLogits expected = soloLogits(model, sequences[line]);
    const auto bytes = file.data(*tensor);
    ASSERT_EQ(bytes.size(), expected.size() * sizeof(float));
    EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), bytes.size()), 0) << "line " << line;
  }
}

namespace {

/// What `model` loses against the model as stored, on 3,000 tokens of held-out text.
nlohmann::json lossOf(const std::string &model) {
  TempFolder folder;
  std::ifstream heldOut(sharedFile("golden/heldout.jsonl"));
  std::string lines;
  for (std::string line; lines.size() < 40'000 && std::getline(heldOut, line);)
    lines += line + "\n";
  writeBytes(folder / "ids.jsonl", lines);
  const Finished finished = infrun(
      {"score", model, "--ids", folder / "ids.jsonl", "--json", "--against", tinyExact("native")});
  EXPECT_EQ(finished.code, 0) << finished.err;
  return nlohmann::json::parse(finished.out)["against"];
}

} // namespace

TEST(ScoreAgainst, theModelAsStoredTheDefaultPolicyLosesLittleAndInt4More) {
  SKIP_WITHOUT_SHARED();
  const nlohmann::json int8 = lossOf(tinyDefault("native"));
  const nlohmann::json int4 = lossOf(tinyDefault("native", {"--quant=int4"}));
  const double divergence = int8["kl"], agreement = int8["top1_agreement"];
  EXPECT_LT(divergence, defaultPolicyDivergence);
  EXPECT_GT(divergence, 0);
  EXPECT_GE(agreement, defaultPolicyAgreement);
  EXPECT_GT(int4["kl"].get<double>(), 2 * divergence);
  EXPECT_LT(int4["top1_agreement"].get<double>(), agreement);
  RecordProperty("int8", int8.dump());
  RecordProperty("int4", int4.dump());
}

TEST(ScoreAgainst, aReferenceToCompileHasNothingRounded) {
  TempFolder folder;
  writeBytes(folder / "ids.jsonl", std::string("{\"ids\": [491, 475, 258, 420, 11]}\n"));
  const Finished finished = infrun({"score", tinyExact("avx2", {"--activations=f32"}), "--ids",
                                    folder / "ids.jsonl", "--against", tinyModel, "--json"});
  ASSERT_EQ(finished.code, 0) << finished.err;
  const nlohmann::json score = nlohmann::json::parse(finished.out)["against"];
  EXPECT_LT(score["kl"].get<double>(), 1e-9) << "targets differ in the order of sums at most";
  EXPECT_EQ(score["top1_agreement"], 1.0);
}

TEST(ScoreAgainst, aModelOfAnotherVocabularyIsRefused) {
  SKIP_WITHOUT_SHARED();
  TempFolder folder;
  writeBytes(folder / "ids.jsonl", std::string("{\"ids\": [1, 2]}\n"));
  expectRefused(infrun({"score", tinyExact("avx2"), "--ids", folder / "ids.jsonl", "--against",
                        compiled(sharedFile("families/llama"), exactFlags("avx2"))}),
                2, {"4096 logits", "vocabularies differ"});
}

TEST(Score, aModelToCompileIsScoredAsItsFileIs) {
  TempFolder folder;
  writeBytes(folder / "ids.jsonl", std::string("{\"ids\": [491, 475, 258, 420, 11]}\n"));
  const Arguments what = {"--ids", folder / "ids.jsonl", "--json"};
  Arguments file = {"score", tinyDefault("avx2", {"--quant=int4"})};
  Arguments source = {"score",        tinyModel,     "--target=avx2",
                      "--quant=int4", "--cache-dir", folder / "cache"};
  file.insert(file.end(), what.begin(), what.end());
  source.insert(source.end(), what.begin(), what.end());
  const Finished ofFile = infrun(file), ofSource = infrun(source);
  ASSERT_EQ(ofSource.code, 0) << ofSource.err;
  EXPECT_EQ(nlohmann::json::parse(ofSource.out)["nll"], nlohmann::json::parse(ofFile.out)["nll"]);
}

TEST(BenchOfASource, namesTheBuildThatInfcMakes) {
  TempFolder folder;
  const Arguments what = {"-p", "4", "-n", "2", "-r", "1", "--no-roof", "--json"};
  Arguments file = {"bench", tinyDefault("avx2")};
  Arguments source = {"bench", tinyModel, "--target=avx2", "--cache-dir", folder / "cache"};
  file.insert(file.end(), what.begin(), what.end());
  source.insert(source.end(), what.begin(), what.end());
  const Finished ofFile = infrun(file), ofSource = infrun(source);
  ASSERT_EQ(ofSource.code, 0) << ofSource.err;
  EXPECT_EQ(nlohmann::json::parse(ofSource.out)["build_id"],
            nlohmann::json::parse(ofFile.out)["build_id"]);
}

/// With more rows than there are experts, at most all are read.
TEST(BenchOfExperts, ofSeveralRowsTheDistinctOnesAreCountedAndTheBytesAreExact) {
  const Finished finished =
      infrun({"bench", tinyDefault("avx2"), "-p", "4,64", "-n", "2", "-r", "1", "--batch", "1,3",
              "--context", "0,8", "--no-roof", "--json"});
  ASSERT_EQ(finished.code, 0) << finished.err;
  const auto runs = nlohmann::json::parse(finished.out)["runs"];
  ASSERT_EQ(runs.size(), 6u);
  const auto bytesAStep = [&](size_t run, double steps) {
    return runs[run]["gb_s"].get<double>() * runs[run]["seconds"][0].get<double>() / steps;
  };
  for (const auto &run : runs)
    EXPECT_EQ(run["bytes_upper_bound"], false) << run;
  EXPECT_GT(bytesAStep(3, 2), bytesAStep(2, 2)) << "three rows read more than one";
  EXPECT_LT(bytesAStep(3, 2), 3 * bytesAStep(2, 2)) << "but share what isn't experts";
}

TEST(BenchOfExperts, rowsOfOneTextReadTheExpertsOfOneAndKeysOfTheirOwn) {
  const auto gigabytes = [](const Arguments &more) {
    Arguments arguments = {"bench", tinyDefault("avx2"), "-p",    "4", "-n", "4", "-r",
                           "1",     "--no-roof",         "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished finished = infrun(arguments);
    EXPECT_EQ(finished.code, 0) << finished.err;
    const auto result = nlohmann::json::parse(finished.out);
    EXPECT_EQ(result["same_text"], more.size() > 2);
    const auto &run = result["runs"][1];
    return run["gb_s"].get<double>() * run["seconds"][0].get<double>();
  };
  const double one = gigabytes({"--batch", "1"}), own = gigabytes({"--batch", "8"});
  const double same = gigabytes({"--batch", "8", "--same-text"});
  EXPECT_GT(same, one) << "seven rows more of the embedding, of keys and of values";
  EXPECT_LT(same, 1.1 * one);
  EXPECT_GT(own, 1.5 * one);
}
