// A saved module, changed by hand and compiled on, is what the model then is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "tests/e2e/Models.h"
#include "tests/e2e/Sessions.h"
#include "tests/runtime/format/TestSupport.h"

using namespace inf;
using namespace inf::test;

namespace {

using Json = nlohmann::json;

/// On avx2, which all CPUs run that run anything here.
class EditedIr : public testing::Test {
protected:
  EditedIr() {
    const Finished finished =
        infc({"compile", tinyModel, "-q", "--target=avx2", "--quant=none", "--kv=f32",
              "--save-ir=" + folder / "ir", "-o", folder / "plain.so"});
    EXPECT_EQ(finished.code, 0) << finished.err;
  }

  /// The module as it was after a stage.
  std::string saved(const std::string &stage) const {
    for (const auto &entry : std::filesystem::directory_iterator(folder / "ir"))
      if (entry.path().filename().string().ends_with("-" + stage + ".mlir")) {
        const std::vector<uint8_t> bytes = readBytes(entry.path().string());
        return {bytes.begin(), bytes.end()};
      }
    ADD_FAILURE() << "no module was saved after " << stage;
    return {};
  }

  Finished resume(const std::string &text, const std::string &target = "avx2") const {
    writeBytes(folder / "edited.mlir", text);
    return infc({"compile", folder / "edited.mlir", "-q", "--target=" + target, "-o",
                 folder / "edited.so"});
  }

  Json inspect(const std::string &name) const {
    const Finished finished = infc({"inspect", "--json", folder / name});
    EXPECT_EQ(finished.code, 0) << finished.err;
    return Json::parse(finished.out)["manifest"];
  }

  /// Everything these edits change computes the same, to the bit.
  void expectSameBits() const {
    const std::vector<int32_t> ids = {491, 475, 258, 420, 11, 405, 288, 258, 400};
    EXPECT_TRUE(
        sameBits(soloLogits(folder / "plain.so", ids), soloLogits(folder / "edited.so", ids)));
  }

  TempFolder folder;
};

/// Replaces `from` in every line that holds `marker`; there must be some.
std::string edited(const std::string &text, const std::string &marker, const std::string &from,
                   const std::string &to) {
  std::string result;
  int changes = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line); result += line + "\n") {
    const size_t at = line.find(marker) == std::string::npos ? std::string::npos : line.find(from);
    if (at == std::string::npos)
      continue;
    line.replace(at, from.size(), to);
    ++changes;
  }
  EXPECT_GT(changes, 0) << "nothing to change: no line with " << marker << " and " << from;
  return result;
}

/// Who uses a kernel, in one string; empty when it is not in the model.
std::string usersOf(const Json &manifest, const std::string &symbol) {
  for (const Json &kernel : manifest["kernels"])
    if (kernel["symbol"] == symbol)
      return kernel["used_by"].dump();
  return {};
}

Json weightNamed(const Json &manifest, const std::string &name) {
  for (const Json &weight : manifest["weights"])
    if (weight["name"] == name)
      return weight;
  return {};
}

constexpr char headOp[] = "inf.lm_head";
constexpr char headWeight[] = "inf.weight @lm_head.weight";
constexpr char headKernel[] = "inf_linear_bf16_f32_r2__avx2";

} // namespace

TEST_F(EditedIr, anotherRowTileIsBuiltAndTheTextStays) {
  const Finished finished =
      resume(edited(saved("select-kernels"), headOp, headKernel, "inf_linear_bf16_f32_r1__avx2"));
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_THAT(usersOf(inspect("plain.so"), headKernel), testing::HasSubstr("lm_head"));
  EXPECT_THAT(usersOf(inspect("edited.so"), "inf_linear_bf16_f32_r1__avx2"),
              testing::HasSubstr("lm_head"));
  EXPECT_EQ(usersOf(inspect("edited.so"), headKernel), "");
  expectSameBits();
}

TEST_F(EditedIr, aKernelOfALesserTargetServesAWiderOne) {
  SKIP_UNLESS_RUNS("avx512");
  ASSERT_EQ(infc({"compile", tinyModel, "-q", "--target=avx512", "--quant=none", "--kv=f32",
                  "--emit=mlir", "--stop-after=select-kernels", "-o", folder / "wide.mlir"})
                .code,
            0);
  const std::vector<uint8_t> wide = readBytes(folder / "wide.mlir");
  const Finished finished = resume(
      edited({wide.begin(), wide.end()}, headOp, "inf_linear_bf16_f32_r8__avx512", headKernel),
      "avx512");
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(inspect("edited.so")["target"], "avx512");
  EXPECT_THAT(usersOf(inspect("edited.so"), headKernel), testing::HasSubstr("lm_head"));
  expectSameBits();
}

TEST_F(EditedIr, anOptionThatTheIrHasDecidedOtherwiseIsRefusedNotIgnored) {
  expectRefused(resume(saved("select-kernels"), "avx512"), 2, {"--target", "selected for avx2"});
  for (const char *option : {"--kv=bf16", "--max-rows=7", "--max-output-rows=3"}) {
    writeBytes(folder / "planned.mlir", saved("plan-memory"));
    const std::string name(option, std::string(option).find('='));
    expectRefused(
        infc({"compile", folder / "planned.mlir", "-q", option, "-o", folder / "edited.so"}), 2,
        {name, "too late"});
  }
}

TEST_F(EditedIr, anotherFormatWithItsKernelIsPackedAndTheTextStays) {
  std::string text =
      edited(saved("select-kernels"), headWeight, "#inf.format<bf16>", "#inf.format<f32>");
  text = edited(text, headOp, headKernel, "inf_linear_f32_f32_r2__avx2");
  const Finished finished = resume(text);
  ASSERT_EQ(finished.code, 0) << finished.err;
  const Json before = weightNamed(inspect("plain.so"), "lm_head.weight");
  const Json after = weightNamed(inspect("edited.so"), "lm_head.weight");
  EXPECT_EQ(before["format"], "bf16");
  EXPECT_EQ(after["format"], "f32");
  EXPECT_EQ(after["bytes"], 2 * before["bytes"].get<uint64_t>());
  EXPECT_THAT(usersOf(inspect("edited.so"), "inf_linear_f32_f32_r2__avx2"),
              testing::HasSubstr("lm_head"));
  expectSameBits(); // bf16 to f32 is exact
}

TEST_F(EditedIr, aFormatWithoutItsKernelIsRefusedNamingBoth) {
  const Finished finished =
      resume(edited(saved("select-kernels"), headWeight, "#inf.format<bf16>", "#inf.format<f32>"));
  expectRefused(finished, 4, {headKernel, "lm_head.weight", "bf16", "f32", "change both"});
  EXPECT_FALSE(std::filesystem::exists(folder / "edited.so"));
}

TEST_F(EditedIr, aKernelWithoutItsFormatIsRefusedNamingBoth) {
  const Finished finished =
      resume(edited(saved("select-kernels"), headOp, headKernel, "inf_linear_f32_f32_r2__avx2"));
  expectRefused(finished, 4, {"inf_linear_f32_f32_r2__avx2", "lm_head.weight", "change both"});
}

TEST_F(EditedIr, aKernelThatIsNoneIsRefused) {
  const Finished finished =
      resume(edited(saved("select-kernels"), headOp, headKernel, "inf_linear_fast__avx2"));
  expectRefused(finished, 4, {"inf_linear_fast__avx2", "lm_head", "infc kernels"});
}

TEST_F(EditedIr, aKernelBeyondTheTargetIsRefused) {
  const Finished finished =
      resume(edited(saved("select-kernels"), headOp, headKernel, "inf_linear_bf16_f32_r8__avx512"));
  expectRefused(finished, 4, {"inf_linear_bf16_f32_r8__avx512", "avx512f", "target avx2"});
}

TEST_F(EditedIr, oneLayersFormatGivesThatLayerABlockOfItsOwn) {
  const Finished finished =
      resume(edited(saved("quantize"), "inf.weight @layers.2.attention.o.weight",
                    "#inf.format<bf16>", "#inf.format<f32>"));
  ASSERT_EQ(finished.code, 0) << finished.err;
  const Json manifest = inspect("edited.so");
  EXPECT_EQ(weightNamed(manifest, "layers.2.attention.o.weight")["format"], "f32");
  EXPECT_EQ(weightNamed(manifest, "layers.4.attention.o.weight")["format"], "bf16");
  const std::string users = usersOf(manifest, "inf_linear_f32_f32_r2_bias_residual__avx2");
  EXPECT_THAT(users, testing::HasSubstr("inf.linear")) << "a block that reads f32";
  expectSameBits();
}

TEST_F(EditedIr, aDamagedPlanIsRefusedByTheVerifierAfterIt) {
  // A buffer moved by one byte: no longer where vectors are loaded from.
  const std::string text = saved("plan-memory");
  const size_t at = text.find("inf.offsets = array<i64: ");
  ASSERT_NE(at, std::string::npos);
  const size_t end = text.find_first_of(">,", at + 25);
  const Finished finished = resume(text.substr(0, end) + "1" + text.substr(end));
  expectRefused(finished, 4, {"verify-plan"});
}
