// A model written by hand in the IR: every op, every stored format, scale and addend of a product.
#include <gtest/gtest.h>

#include "tests/e2e/Models.h"
#include "tests/runtime/format/TestSupport.h"

using namespace inf;
using namespace inf::test;

namespace {

const std::string everyOp = INF_SOURCE_DIR "/tests/e2e/Inputs/every-op.mlir";
const std::string ids = "1,2,3,99,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20";

class EveryOp : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override { SKIP_UNLESS_RUNS(GetParam()); }
};

/// Logits of the compiled model, compared by `infc reference` with what the ops mean.
void expectMatchesMeaning(const char *target, const Arguments &flags) {
  Arguments all{std::string("--target=") + target, "--weights=random:3"};
  all.insert(all.end(), flags.begin(), flags.end());
  const TempFolder folder;
  writeBytes(folder / "ids.jsonl", "{\"ids\": [" + ids + "]}\n");
  const Finished scored = infrun({"score", compiled(everyOp, all), "--ids", folder / "ids.jsonl",
                                  "--logits", folder / "logits.safetensors"});
  ASSERT_EQ(scored.code, 0) << scored.err;
  // Sums of at most 64 terms of size 1 in another order: 1e-6 seen, a wrong op gives 0.1 and more.
  const Finished compared = infc({"reference", everyOp, "--weights=random:3", "--ids", ids,
                                  "--compare", folder / "logits.safetensors", "--tolerance=2e-5"});
  EXPECT_EQ(compared.code, 0) << compared.out << compared.err;
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Targets, EveryOp, testing::Values("avx2", "avx512"), nameOfTarget);

TEST_P(EveryOp, computesWhatItMeansFused) { expectMatchesMeaning(GetParam(), {}); }

TEST_P(EveryOp, computesWhatItMeansUnfused) {
  expectMatchesMeaning(GetParam(), {"--without", "fuse-qkv", "fuse-norm", "fuse-rope-append",
                                    "fuse-router", "fuse-epilogue"});
}
