// A model written by hand in the IR: every op, every stored format, scale and addend of a product.
#include <gtest/gtest.h>

#include "tests/e2e/Models.h"
#include "tests/runtime/format/TestSupport.h"

using namespace inf;
using namespace inf::test;

namespace {

const std::string everyOp = INF_SOURCE_DIR "/tests/e2e/Inputs/every-op.mlir";
const std::string ids = "1,2,3,99,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20";

const Arguments exact = {"--quant=none"};
/// The products of 64 columns, in each block format; expert_down is stored in mxfp4.
const std::string blocks = "--quant=none,layers.0.o=int8,layers.1.o=int4,layers.2.o=int4a";
const Arguments unfused = {"--without",   "fuse-qkv",      "fuse-norm",    "fuse-rope-append",
                           "fuse-router", "fuse-epilogue", "fuse-quantize"};
/// Sums of at most 64 terms of size 1 in another order: 1e-6 seen, a wrong op gives 0.1 and more.
constexpr char sameSums[] = "2e-5";
/// A value within f32 error of the middle between two steps of q8 goes the other way: 1/127 of the
/// largest of its block, in one of 64 terms. Of bf16 a step is 1/256 to 1/128 of the value.
constexpr char sameSteps[] = "1e-2";

class EveryOp : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override { SKIP_UNLESS_RUNS(GetParam()); }
};

/// Logits of the compiled model, compared by `infc reference` with what the ops mean. `rounding`
/// flags change what they mean, `flags` do not.
void expectMatchesMeaning(const char *target, const Arguments &rounding, const Arguments &flags,
                          const char *tolerance) {
  Arguments all{std::string("--target=") + target, "--weights=random:3"};
  all.insert(all.end(), rounding.begin(), rounding.end());
  all.insert(all.end(), flags.begin(), flags.end());
  const TempFolder folder;
  writeBytes(folder / "ids.jsonl", "{\"ids\": [" + ids + "]}\n");
  const Finished scored = infrun({"score", compiled(everyOp, all), "--ids", folder / "ids.jsonl",
                                  "--logits", folder / "logits.safetensors"});
  ASSERT_EQ(scored.code, 0) << scored.err;
  Arguments reference{"reference", everyOp,     "--weights=random:3",          "--ids",
                      ids,         "--compare", folder / "logits.safetensors", "--tolerance",
                      tolerance};
  reference.insert(reference.end(), rounding.begin(), rounding.end());
  const Finished compared = infc(reference);
  EXPECT_EQ(compared.code, 0) << compared.out << compared.err;
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Targets, EveryOp, testing::Values("avx2", "avx512", "avx512bf16"),
                         nameOfTarget);

TEST_P(EveryOp, computesWhatItMeansFused) { expectMatchesMeaning(GetParam(), exact, {}, sameSums); }

TEST_P(EveryOp, computesWhatItMeansUnfused) {
  expectMatchesMeaning(GetParam(), exact, unfused, sameSums);
}

TEST_P(EveryOp, computesWhatItMeansFromFloatsWithWeightsInBlocks) {
  expectMatchesMeaning(GetParam(), {blocks, "--activations=f32"}, {}, sameSums);
}

TEST_P(EveryOp, computesWhatItMeansInBf16) {
  expectMatchesMeaning(GetParam(), {"--quant=none", "--activations=bf16"}, {}, sameSteps);
  expectMatchesMeaning(GetParam(), {"--quant=none", "--activations=bf16"}, unfused, sameSteps);
  expectMatchesMeaning(GetParam(), {blocks, "--activations=bf16"}, {}, sameSteps);
}

TEST_P(EveryOp, computesWhatItMeansInInt8) {
  expectMatchesMeaning(GetParam(), {blocks, "--activations=q8"}, {}, sameSteps);
  expectMatchesMeaning(GetParam(), {blocks, "--activations=q8"}, unfused, sameSteps);
}
