#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/format/Safetensors.h"
#include "runtime/session/LogLikelihood.h"
#include "runtime/tools/score/Score.h"
#include "tests/runtime/session/FakeModel.h"
#include "tests/runtime/session/fake_model.h"
#include "tests/runtime/tools/Process.h"

using namespace inf;
using namespace inf::test;
using testing::AllOf;
using testing::HasSubstr;

namespace {

class ScoreCommand : public testing::Test {
protected:
  ScoreCommand() { writeFakeModel(model); }

  std::string text(const std::string &name, const std::string &content) {
    std::ofstream(directory.file(name)) << content;
    return directory.file(name);
  }

  TempDirectory directory;
  std::string model = directory.file("m.so");
};

double expectedNll(const Model &model, const std::vector<int32_t> &tokens) {
  double sum = 0;
  for (size_t i = 1; i < tokens.size(); ++i)
    sum += negativeLogLikelihood(expectedLogits(model, std::span<const int32_t>(tokens).first(i)),
                                 tokens[i]);
  return sum;
}

} // namespace

TEST_F(ScoreCommand, linesAreSequencesOfTheirOwn) {
  std::vector<int32_t> first = someTokens(70, 1), second = someTokens(30, 2), third = {9};
  std::string lines;
  for (const auto &ids : {first, second, third})
    lines += nlohmann::json{{"ids", ids}, {"text", "ignored"}}.dump() + "\n";
  Finished result = infrun({"score", model, "--ids", text("l.jsonl", lines), "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  auto json = nlohmann::json::parse(result.out);
  auto loaded = Model::load(model);
  double nll = (expectedNll(*loaded, first) + expectedNll(*loaded, second)) / (69 + 29);
  EXPECT_NEAR(json["nll"].get<double>(), nll, 1e-12);
  EXPECT_NEAR(json["perplexity"].get<double>(), std::exp(nll), 1e-9 * std::exp(nll));
  EXPECT_EQ(json["tokens"], 69 + 29);
  EXPECT_EQ(json["sequences"], 3);
  EXPECT_GE(json["seconds"].get<double>(), 0);
}

TEST_F(ScoreCommand, aTextIsOneSequenceLabelledRaw) {
  Finished result = infrun({"score", model, "--text", text("t.txt", "hello, hello")});
  ASSERT_EQ(result.code, 0) << result.err;
  auto loaded = Model::load(model);
  std::vector<int32_t> ids = loaded->tokenizer()->encode("hello, hello", SpecialTokens::AsText);
  double nll = expectedNll(*loaded, ids) / static_cast<double>(ids.size() - 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("raw text"), HasSubstr(fmt::format("{:.6f}", nll))));
}

TEST_F(ScoreCommand, logitsAreWrittenPerLine) {
  std::string out = directory.file("logits.safetensors");
  std::vector<int32_t> ids = someTokens(20, 4);
  std::string lines = "{\"ids\": [1, 2]}\n\n" + nlohmann::json{{"ids", ids}}.dump();
  Finished result =
      infrun({"score", model, "--ids", text("l.jsonl", lines), "--logits", out, "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  SafetensorsFile file = SafetensorsFile::open(out);
  ASSERT_EQ(file.tensors().size(), 2u);
  const TensorInfo *tensor = file.find("line2.logits"); // the empty line counts
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->shape, (std::vector<uint64_t>{20, FAKE_VOCABULARY}));
  auto loaded = Model::load(model);
  std::vector<float> expected = expectedLogits(*loaded, ids);
  std::span<const uint8_t> last = file.data(*tensor).last(FAKE_VOCABULARY * 4);
  EXPECT_EQ(std::memcmp(last.data(), expected.data(), last.size()), 0);
}

TEST_F(ScoreCommand, brokenInputIsNamedByLineAndLeavesNoFile) {
  std::string out = directory.file("logits.safetensors");
  for (const char *line : {"{", "[1]", "{\"ids\": 3}", "{\"ids\": [1.5]}", "{\"ids\": []}",
                           "{\"ids\": [99999999999]}"}) {
    Finished result =
        infrun({"score", model, "--ids", text("l.jsonl", std::string("{\"ids\": [1, 2]}\n") + line),
                "--logits", out});
    EXPECT_EQ(result.code, 4) << line;
    EXPECT_THAT(result.err, HasSubstr("line 2")) << line;
  }
  EXPECT_EQ(
      infrun({"score", model, "--ids", text("l.jsonl", "{\"ids\": [1, 272]}"), "--logits", out})
          .code,
      2);
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_EQ(infrun({"score", model, "--ids", text("l.jsonl", "")}).code, 4);
  EXPECT_EQ(infrun({"score", model, "--text", text("t.txt", "a")}).code, 4) << "nothing to predict";
  EXPECT_EQ(infrun({"score", model, "--text", directory.file("missing")}).code, 5);
}

TEST_F(ScoreCommand, aTextBeyondTheModelsContextExitsSix) {
  Finished result = infrun({"score", model, "--text", text("t.txt", std::string(5000, 'x'))});
  EXPECT_EQ(result.code, 6);
  EXPECT_THAT(result.err, AllOf(HasSubstr("5000 tokens"), HasSubstr("4096")));
}

TEST_F(ScoreCommand, logitsBeyondEightGigabytesAreRefusedBeforehand) {
  std::string lines;
  std::string line = nlohmann::json{{"ids", std::vector<int>(4096, 1)}}.dump() + "\n";
  for (int i = 0; i < 1900; ++i) // 1900 x 4096 x 272 x 4 bytes = 8.5 GB
    lines += line;
  Finished result = infrun({"score", model, "--ids", text("l.jsonl", lines), "--logits",
                            directory.file("big.safetensors")});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("8.5 GB"));
}

TEST_F(ScoreCommand, againstItselfNothingIsLost) {
  const std::string lines = nlohmann::json{{"ids", someTokens(70, 1)}}.dump() + "\n" +
                            nlohmann::json{{"ids", someTokens(30, 2)}}.dump() + "\n";
  const std::string ids = text("l.jsonl", lines);
  const Finished alone = infrun({"score", model, "--ids", ids, "--json"});
  const Finished result = infrun({"score", model, "--ids", ids, "--against", model, "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out), expected = nlohmann::json::parse(alone.out);
  EXPECT_EQ(json["perplexity"], expected["perplexity"]);
  EXPECT_EQ(json["tokens"], 69 + 29);
  EXPECT_EQ(json["sequences"], 2);
  const auto &against = json["against"];
  EXPECT_EQ(against["model"], model);
  EXPECT_EQ(against["perplexity"], expected["perplexity"]);
  EXPECT_EQ(against["kl"], 0.0);
  EXPECT_EQ(against["kl_most"], 0.0);
  EXPECT_EQ(against["top1_agreement"], 1.0);
}

TEST_F(ScoreCommand, againstAnotherModelEveryTokenCountsOnce) {
  FakeOptions options;
  options.seed = 2;
  const std::string other = directory.file("other.so");
  writeFakeModel(other, options);
  const std::vector<int32_t> ids = someTokens(50, 3); // several turns of 16
  const std::string file = text("l.jsonl", nlohmann::json{{"ids", ids}}.dump());
  const Finished result = infrun({"score", model, "--ids", file, "--against", other, "--json",
                                  "--logits", directory.file("logits.safetensors")});
  ASSERT_EQ(result.code, 0) << result.err;
  const auto mine = Model::load(model), reference = Model::load(other);
  Comparison expected;
  for (size_t i = 1; i < ids.size(); ++i) {
    const auto before = std::span<const int32_t>(ids).first(i);
    expected.add(
        compareLogits(expectedLogits(*mine, before), expectedLogits(*reference, before), ids[i]));
  }
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["nll"].get<double>(), expected.model.mean());
  EXPECT_EQ(json["against"]["nll"].get<double>(), expected.reference.mean());
  EXPECT_GT(expected.meanDivergence(), 0.1) << "or this compares a model with itself";
  EXPECT_EQ(json["against"]["kl"].get<double>(), expected.meanDivergence());
  EXPECT_EQ(json["against"]["top1_agreement"].get<double>(), expected.agreement());
  EXPECT_EQ(SafetensorsFile::open(directory.file("logits.safetensors")).tensors()[0].shape,
            (std::vector<uint64_t>{50, FAKE_VOCABULARY}));
}

TEST_F(ScoreCommand, bothPerplexitiesOfATextAreLabelledRaw) {
  const Finished result =
      infrun({"score", model, "--text", text("t.txt", "hello, hello"), "--against", model});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("KL divergence 0.000000"), HasSubstr("100.00 %"),
                                HasSubstr("raw text; 11 tokens")));
}

TEST_F(ScoreCommand, ofATextWithSpecialTokensTheyCountAsOne) {
  const std::string file = text("t.txt", "hello<|end|>");
  const Finished raw = infrun({"score", model, "--text", file, "--raw", "--json"});
  ASSERT_EQ(raw.code, 0) << raw.err;
  EXPECT_EQ(nlohmann::json::parse(raw.out)["tokens"], 5);
  EXPECT_EQ(nlohmann::json::parse(raw.out)["input"], "text with special tokens");
  EXPECT_EQ(nlohmann::json::parse(infrun({"score", model, "--text", file, "--json"}).out)["tokens"],
            11);
}

TEST_F(ScoreCommand, againstOtherTokensIsRefusedNamingTheFirst) {
  FakeOptions options;
  options.change = [](PayloadContents &contents) {
    contents.tokenizerJson.replace(contents.tokenizerJson.find("<|end|>"), 7, "<|fin|>");
  };
  writeFakeModel(directory.file("other.so"), options);
  const Finished result = infrun({"score", model, "--ids", text("l.jsonl", "{\"ids\": [1, 2]}"),
                                  "--against", directory.file("other.so")});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("token 258"), HasSubstr("vocabularies differ")));
}
