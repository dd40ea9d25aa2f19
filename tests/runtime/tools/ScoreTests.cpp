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
