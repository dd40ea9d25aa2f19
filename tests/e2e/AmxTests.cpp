// A model compiled for AMX, whole: what the compiler chose, how the runtime loads and runs it. On a
// machine without AMX its tile instructions are emulated.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/codegen/TileEmulation.h"
#include "tests/e2e/AmxSession.h"
#include "tests/e2e/Models.h"
#include "tests/runtime/format/TestSupport.h"

using namespace inf;
using namespace inf::test;

namespace {

std::vector<int32_t> someTokens(size_t count) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < count; ++i)
    tokens.push_back(int32_t(i * 37 % 1000));
  return tokens;
}

/// gpt-oss-tiny as stored, rows of what reads bf16 weights in bf16.
Arguments bf16Flags(const std::string &target) {
  return {"--target=" + target, "--quant=none", "--activations=bf16"};
}
std::string tinyBf16() { return compiled(tinyModel, bf16Flags("amx")); }

/// Of gpt-oss-tiny, its kernels called `from...` set by hand to `to...`.
std::string tinyWithKernels(Arguments arguments, const std::string &from, const std::string &to) {
  const TempFolder folder;
  const std::string path = folder / "model.mlir";
  arguments.insert(arguments.begin(), {"compile", tinyModel});
  arguments.insert(arguments.end(), {"-q", "--emit=mlir", "--stop-after=verify-plan", "-o", path});
  const Finished finished = infc(arguments);
  EXPECT_EQ(finished.code, 0) << finished.err;
  const std::vector<uint8_t> bytes = readBytes(path);
  std::string text(bytes.begin(), bytes.end());
  size_t count = 0;
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; ++count)
    text.replace(at, from.size(), to);
  EXPECT_GT(count, 0u) << "no " << from;
  writeBytes(path, text);
  return compiled(path, {});
}

/// The attention of a model for AMX by the kernel that targets without tiles have.
std::string tinyWithAttentionInPairs(Arguments flags) {
  return tinyWithKernels(std::move(flags), "_bf16dots_by32__amx", "_bf16dots__avx512");
}

} // namespace

TEST(Amx, aWholeModelGivesTheBitsOfItsVnniTwin) {
  SKIP_UNLESS_RUNS("avx512bf16");
  const std::vector<int32_t> tokens = someTokens(150); // beyond the window; no multiple of a tile
  const AllLogits twin = soloLogits(tinyDefault("avx512vnni", {"--activations=mxint8"}), tokens);
  const std::string model = tinyWithAttentionInPairs({"--target=amx"});
  TileEmulation emulation;
  EXPECT_TRUE(sameBits(twin, prefillLogits(*openAmxSession(model, 1), 0, tokens)));
  EXPECT_TRUE(sameBits(twin, prefillLogits(*openAmxSession(model, 2), 0, tokens, 67)));
  if (!runsHere("amx")) {
    EXPECT_GT(emulation.executed(), 0u) << "no kernel of the model uses tiles";
  }
  EXPECT_FALSE(emulation.isConfigured()) << "tiles stay configured behind the step";
}

TEST(Amx, oneRowAtATimeGivesTheBitsOfAPrompt) {
  SKIP_UNLESS_RUNS("avx512bf16");
  const std::vector<int32_t> tokens = someTokens(40);
  TileEmulation emulation;
  const std::string model = tinyDefault("amx");
  const AllLogits whole = prefillLogits(*openAmxSession(model, 1), 0, tokens);
  EXPECT_TRUE(sameBits(whole, prefillLogits(*openAmxSession(model, 2), 0, tokens, 1)));
}

double rootMeanSquare(const AllLogits &a, const AllLogits &b) {
  double squares = 0;
  for (size_t i = 0; i < a.size(); ++i)
    squares += (double(a[i]) - b[i]) * (double(a[i]) - b[i]);
  return std::sqrt(squares / double(a.size()));
}

/// Of attention too tiles sum in an order of their own. Other bits choose another expert here and
/// there, so the two are not as near to each other as sums are.
TEST(Amx, attentionOnTilesIsAsNearToExactLogitsAsThatInPairs) {
  SKIP_UNLESS_RUNS("avx512bf16");
  const std::vector<int32_t> tokens = someTokens(150);
  const AllLogits exact = soloLogits(tinyExact("avx512"), tokens);
  const TileEmulation emulation;
  const AllLogits tiles = prefillLogits(*openAmxSession(tinyDefault("amx"), 2), 0, tokens);
  const AllLogits pairs =
      prefillLogits(*openAmxSession(tinyWithAttentionInPairs({"--target=amx"}), 2), 0, tokens);
  EXPECT_FALSE(sameBits(tiles, pairs));
  EXPECT_GT(rootMeanSquare(pairs, exact), 0);
  EXPECT_LT(rootMeanSquare(tiles, exact), 2 * rootMeanSquare(pairs, exact));
}

/// Of bf16 rows tiles sum in an order of their own, which no target without them takes by itself.
TEST(Amx, bf16RowsGiveTheBitsOfATwinToldToSumAsTilesDo) {
  SKIP_UNLESS_RUNS("avx512bf16");
  const std::vector<int32_t> tokens = someTokens(150);
  const AllLogits twin = soloLogits(tinyWithKernels(bf16Flags("avx512"), "inf_linear_bf16_bf16_r6",
                                                    "inf_linear_bf16_bf16_r4_by32"),
                                    tokens);
  const std::string model = tinyWithAttentionInPairs(bf16Flags("amx"));
  const TileEmulation emulation;
  EXPECT_TRUE(sameBits(twin, prefillLogits(*openAmxSession(model, 2), 0, tokens)));
  EXPECT_FALSE(sameBits(twin, soloLogits(compiled(tinyModel, bf16Flags("avx512")), tokens)))
      << "the two orders give the same bits: one of them is not what it says";
}

TEST(Amx, bf16RowsGiveTheSameBitsAloneAndInCompany) {
  SKIP_UNLESS_RUNS("avx512bf16");
  const std::vector<int32_t> tokens = someTokens(60);
  TileEmulation emulation;
  const AllLogits whole = prefillLogits(*openAmxSession(tinyBf16(), 1), 0, tokens);
  if (!runsHere("amx")) {
    EXPECT_GT(emulation.executed(), 0u) << "no kernel of the model uses tiles";
  }
  EXPECT_FALSE(emulation.isConfigured()) << "tiles stay configured behind the step";
  for (uint32_t chunk : {1, 7, 8, 37})
    EXPECT_TRUE(sameBits(whole, prefillLogits(*openAmxSession(tinyBf16(), 2), 0, tokens, chunk)))
        << "chunks of " << chunk;
}

/// Fewer and more rows of company than tiles begin with.
TEST(Amx, bf16RowsOfOneSequenceDoNotFeelAnother) {
  SKIP_UNLESS_RUNS("avx512bf16");
  const std::vector<int32_t> tokens = someTokens(12);
  const TileEmulation emulation;
  const std::string model = tinyBf16();
  const AllLogits alone = prefillLogits(*openAmxSession(model, 1), 0, tokens, 1);
  const auto session = openAmxSession(model, 1, 1024, 2);
  AllLogits together;
  for (size_t i = 0; i < tokens.size(); ++i) {
    std::vector<RowRequest> rows = {{tokens[i], 0, INF_ROW_GENERATED, INF_OUTPUT_LOGITS}};
    for (size_t other = 0; other < i * 2; ++other)
      rows.push_back({tokens[other % tokens.size()], 1, INF_ROW_PROMPT, INF_OUTPUT_NONE});
    const StepResult result = session->step(rows);
    together.insert(together.end(), result.logits(0).begin(), result.logits(0).end());
  }
  EXPECT_TRUE(sameBits(alone, together));
}

TEST(Amx, explainSaysWhichOrderBf16RowsAreSummedIn) {
  const Finished explained = infc({"explain", tinyBf16()});
  ASSERT_EQ(explained.code, 0) << explained.err;
  EXPECT_THAT(explained.out, testing::HasSubstr("inf_linear_bf16_bf16_r16_by32_bias__amx"));
  EXPECT_THAT(explained.out, testing::HasSubstr("amx_tile, amx_bf16"));
  EXPECT_THAT(explained.out, testing::HasSubstr("fewer than 8 rows go to FMAs"));
}

TEST(Amx, inspectSaysWhichRowsHaveScalesThatArePowersOfTwo) {
  const Finished amx = infc({"inspect", tinyDefault("amx")});
  ASSERT_EQ(amx.code, 0) << amx.err;
  EXPECT_THAT(amx.out, testing::HasSubstr("activations mxint8+q8"));
  const Finished asked = infc({"inspect", tinyDefault("amx", {"--activations=q8"})});
  ASSERT_EQ(asked.code, 0) << asked.err;
  EXPECT_THAT(asked.out, testing::HasSubstr("activations q8"));
  const Finished others = infc({"inspect", tinyDefault("avx512bf16")});
  ASSERT_EQ(others.code, 0) << others.err;
  EXPECT_THAT(others.out, testing::HasSubstr("activations q8"));
}

/// On any target: a lowering that ignored it would pass all comparisons of twins.
TEST(Mxint8, givesOtherBitsThanQ8) {
  const std::vector<int32_t> tokens = someTokens(20);
  EXPECT_FALSE(sameBits(soloLogits(tinyDefault("avx2", {"--activations=q8"}), tokens),
                        soloLogits(tinyDefault("avx2", {"--activations=mxint8"}), tokens)));
}
