// The same architecture as it is saved without quantization: experts in plain f32, transposed, gate
// and up interleaved; `rope_parameters` instead of `rope_scaling`; a window of 8.
#include <gtest/gtest.h>

#include "tests/e2e/Golden.h"
#include "tests/e2e/Models.h"
#include "tests/e2e/Sessions.h"
#include "tests/e2e/Tolerances.h"

using namespace inf;
using namespace inf::test;

namespace {
class Family : public testing::TestWithParam<const char *> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Targets, Family, testing::Values("avx2", "avx512"), nameOfTarget);

TEST_P(Family, gptOssInPlainF32MatchesItsPublishedLogits) {
  SKIP_WITHOUT_SHARED();
  SKIP_UNLESS_RUNS(GetParam());
  const Golden golden(sharedFile("families/gpt_oss/golden.safetensors"));
  const std::string model = compiled(sharedFile("families/gpt_oss"), exactFlags(GetParam()));
  ASSERT_EQ(golden.prompts(), 3u);
  for (size_t p = 0; p < golden.prompts(); ++p) {
    const GoldenPrompt prompt = golden.prompt(p);
    ASSERT_EQ(prompt.logits.rows, prompt.ids.size()); // up to 40 tokens: five windows
    EXPECT_LT(largestDifference(soloLogits(model, prompt.ids), prompt.logits.values), goldenLogits)
        << "prompt " << p;
  }
}

TEST(FamilyOfGptOss, aModelWithoutATokenizerTakesIdsAlone) {
  SKIP_WITHOUT_SHARED();
  const std::string model = compiled(sharedFile("families/gpt_oss"), {"--target=avx2"});
  expectRefused(infrun({model, "--prompt", "a"}), 2, {"without a tokenizer", "--ids"});
  EXPECT_EQ(infrun({model, "--ids", "1,2", "--max-tokens", "2"}).code, 0);
}
