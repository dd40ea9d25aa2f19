// Small models of every family, against the logits that the published implementation gave for them
// (f32, random weights). Between them: heads of 24 and 32, a window shorter than the prompt,
// biases, norms of heads, tied embeddings, llama3 and yarn rope, experts as one tensor each and
// stacked.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/e2e/Golden.h"
#include "tests/e2e/Models.h"
#include "tests/e2e/Sessions.h"
#include "tests/e2e/Tolerances.h"

using namespace inf;
using namespace inf::test;

namespace {

constexpr const char *families[] = {"gpt_oss", "llama", "llama3_rope", "mistral_window",
                                    "mixtral", "qwen2", "qwen3",       "qwen3_moe"};
const Arguments unfused = {"--without",   "fuse-qkv",      "fuse-norm",    "fuse-rope-append",
                           "fuse-router", "fuse-epilogue", "fuse-quantize"};

using FamilyAndTarget = std::tuple<const char *, const char *>;

class Family : public testing::TestWithParam<FamilyAndTarget> {
protected:
  void SetUp() override {
    SKIP_WITHOUT_SHARED();
    SKIP_UNLESS_RUNS(target());
  }
  const char *target() const { return std::get<1>(GetParam()); }
  std::string folder() const {
    return sharedFile(std::string("families/") + std::get<0>(GetParam()));
  }
  Golden golden() const { return Golden(folder() + "/golden.safetensors"); }

  /// One prompt is 40 tokens: longer than every window.
  void expectPublishedLogits(const std::string &model) {
    const Golden published = golden();
    ASSERT_EQ(published.prompts(), 3u);
    for (size_t p = 0; p < published.prompts(); ++p) {
      const GoldenPrompt prompt = published.prompt(p);
      ASSERT_EQ(prompt.logits.rows, prompt.ids.size());
      EXPECT_LT(largestDifference(soloLogits(model, prompt.ids), prompt.logits.values),
                goldenLogits)
          << "prompt " << p;
    }
  }
};

std::string nameOfFamily(const testing::TestParamInfo<FamilyAndTarget> &info) {
  return std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
}

double cosine(std::span<const float> a, std::span<const float> b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += double(a[i]) * b[i];
    aa += double(a[i]) * a[i];
    bb += double(b[i]) * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

/// Over the tokens of a prompt, of each one's logits: a token whose experts turned doesn't decide.
double medianCosine(std::span<const float> a, std::span<const float> b, size_t tokens) {
  const size_t width = a.size() / tokens;
  std::vector<double> cosines;
  for (size_t t = 0; t < tokens; ++t)
    cosines.push_back(cosine(a.subspan(t * width, width), b.subspan(t * width, width)));
  const auto middle = cosines.begin() + static_cast<std::ptrdiff_t>(tokens / 2);
  std::nth_element(cosines.begin(), middle, cosines.end());
  return *middle;
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Published, Family,
                         testing::Combine(testing::ValuesIn(families),
                                          testing::Values("avx2", "avx512")),
                         nameOfFamily);

TEST_P(Family, givesThePublishedLogits) {
  expectPublishedLogits(compiled(folder(), exactFlags(target())));
}

TEST_P(Family, givesThePublishedLogitsWithNothingFused) {
  Arguments flags = exactFlags(target());
  flags.insert(flags.end(), unfused.begin(), unfused.end());
  expectPublishedLogits(compiled(folder(), flags));
}

/// A row's bits may depend on nothing but its sequence: chunks of 3 cut heads, windows and experts.
TEST_P(Family, givesTheSameBitsInChunks) {
  const std::string model = compiled(folder(), exactFlags(target()));
  const std::vector<int32_t> ids = golden().prompt(2).ids;
  EXPECT_TRUE(sameBits(soloLogits(model, ids), soloLogits(model, ids, {.threads = 2}, 3)));
}

TEST_P(Family, staysCloseToThePublishedLogitsWithTheDefaultPolicy) {
  const std::string model = compiled(folder(), {std::string("--target=") + target()});
  const GoldenPrompt prompt = golden().prompt(2);
  const std::vector<float> logits = soloLogits(model, prompt.ids);
  ASSERT_EQ(logits.size(), prompt.logits.values.size());
  EXPECT_GT(medianCosine(logits, prompt.logits.values, prompt.ids.size()), defaultPolicyCosine);
  EXPECT_GT(cosine(logits, prompt.logits.values), defaultPolicyCosineOfAll);
}

TEST_P(Family, staysCloseToThePublishedLogitsInBf16) {
  const std::string model = compiled(folder(), {std::string("--target=") + target(), "--quant=bf16",
                                                "--kv=f32", "--activations=bf16"});
  const GoldenPrompt prompt = golden().prompt(2);
  EXPECT_GT(cosine(soloLogits(model, prompt.ids), prompt.logits.values), bf16Cosine);
}

TEST(FamilyOfGptOss, aModelWithoutATokenizerTakesIdsAlone) {
  SKIP_WITHOUT_SHARED();
  const std::string model = compiled(sharedFile("families/gpt_oss"), {"--target=avx2"});
  expectRefused(infrun({model, "--prompt", "a"}), 2, {"without a tokenizer", "--ids"});
  EXPECT_EQ(infrun({model, "--ids", "1,2", "--max-tokens", "2"}).code, 0);
}
