// A small trained model of Llama's shape, heads of 8 features: its greedy tokens are the published
// ones, from safetensors and from the GGUF file of the same weights.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/Models.h"
#include "tests/e2e/Sessions.h"
#include "tests/e2e/Tolerances.h"

using namespace inf;
using namespace inf::test;

namespace {

/// All that the model was trained for.
constexpr SessionSetup wholeContext = {.context = 512};

class Stories : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    SKIP_WITHOUT_SHARED();
    SKIP_UNLESS_RUNS(GetParam());
    golden = nlohmann::json::parse(std::ifstream(sharedFile("golden/stories260K.json")));
  }
  std::string model(const std::string &file) const {
    Arguments flags = exactFlags(GetParam());
    flags.push_back("--no-tokenizer");
    return compiled(sharedFile("models/stories260K" + file), flags);
  }
  std::vector<float> logits(const char *key) const { return golden.at(key); }
  nlohmann::json golden;
};

/// The prompt and what follows it, the most likely token each time, `count` tokens in all.
std::vector<int32_t> greedy(const std::string &model, std::vector<int32_t> ids, size_t count) {
  const auto session = openSession(model, wholeContext);
  std::vector<float> logits = prefillLogits(*session, 0, ids);
  const size_t vocabulary = logits.size() / ids.size();
  std::span<const float> last = std::span(logits).last(vocabulary);
  while (ids.size() < count) {
    ids.push_back(highest(last));
    const RowRequest row = {ids.back(), 0, INF_ROW_GENERATED, INF_OUTPUT_LOGITS};
    const auto step = session->step({&row, 1}).logits(0);
    logits.assign(step.begin(), step.begin() + std::ptrdiff_t(vocabulary));
    last = logits;
  }
  return ids;
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Targets, Stories, testing::Values("avx2", "avx512"), nameOfTarget);

TEST_P(Stories, greedyTokensAreThePublishedOnes) {
  size_t texts = 0;
  for (const auto &[key, text] : golden.items()) {
    if (!key.starts_with("greedy"))
      continue;
    const std::vector<int32_t> ids = text.at("ids");
    const std::vector<int32_t> prompt = text.contains("prompt_ids")
                                            ? text.at("prompt_ids").get<std::vector<int32_t>>()
                                            : std::vector<int32_t>{ids.front()};
    for (const char *file : {"", "/stories260K.gguf"})
      EXPECT_EQ(greedy(model(file), prompt, ids.size()), ids) << key << " of " << file;
    ++texts;
  }
  EXPECT_EQ(texts, 4u);
}

TEST_P(Stories, logitsAreThePublishedOnes) {
  const std::vector<int32_t> ids = golden.at("greedy_empty_prompt_200").at("ids");
  const AllLogits all = soloLogits(model(""), std::span(ids).first(32), wholeContext);
  const size_t vocabulary = all.size() / 32;
  EXPECT_LT(largestDifference(std::span(all).first(vocabulary), logits("first_step_logits_bos")),
            goldenLogits);
  EXPECT_LT(
      largestDifference(std::span(all).last(vocabulary), logits("logits_pos_31_empty_prompt")),
      goldenLogits);
}

/// The rows of q and k lie in pairs in the file; a head too many or too few and all is noise.
TEST_P(Stories, theGgufFileIsTheSameModel) {
  const std::vector<int32_t> ids = golden.at("greedy_empty_prompt_200").at("ids");
  EXPECT_TRUE(sameBits(soloLogits(model(""), ids, wholeContext),
                       soloLogits(model("/stories260K.gguf"), ids, wholeContext)));
}
