// The compiler can be stopped, shown and resumed anywhere; every optional stage can be left out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include <elf.h>

#include <fmt/ranges.h>

#include "tests/e2e/Golden.h"
#include "tests/e2e/Models.h"
#include "tests/e2e/Sessions.h"
#include "tests/e2e/Tolerances.h"
#include "tests/runtime/format/TestSupport.h"

using namespace inf;
using namespace inf::test;
using testing::HasSubstr;
using testing::Not;

namespace {

const Arguments optionalStages = {"fuse-qkv", "fuse-norm", "fuse-rope-append", "fuse-router",
                                  "fuse-epilogue"};

std::vector<std::string> stageList() {
  std::istringstream lines(infc({"stages"}).out);
  std::vector<std::string> names;
  for (std::string name; std::getline(lines, name);)
    names.push_back(name);
  return names;
}

/// Compiles the tiny model to text on stdout.
std::string emitted(const Arguments &flags) {
  Arguments arguments = {"compile", tinyModel, "-q", "--target=avx2", "-o", "-"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  const Finished finished = infc(arguments);
  EXPECT_EQ(finished.code, 0) << finished.err;
  return finished.out;
}

Arguments leavingOut(const Arguments &stages) {
  Arguments flags;
  for (const std::string &stage : stages)
    flags.push_back("--without=" + stage);
  return flags;
}

} // namespace

TEST(Stages, stoppedAfterAnyAndResumedTheIrIsTheSame) {
  const TempFolder folder;
  const std::string direct = emitted({"--emit=mlir"});
  for (const std::string &stage : stageList()) {
    if (stage == "lower-to-llvm")
      continue; // the last: there is no model left to resume
    const std::string text = emitted({"--emit=mlir", "--stop-after=" + stage});
    EXPECT_THAT(text, HasSubstr("stage = \"" + stage + "\""));
    writeBytes(folder / "stopped.mlir", text);
    const Finished finished =
        infc({"compile", folder / "stopped.mlir", "-q", "--target=avx2", "--emit=mlir", "-o", "-"});
    ASSERT_EQ(finished.code, 0) << stage << ": " << finished.err;
    EXPECT_TRUE(finished.out == direct) << "resumed after " << stage;
  }
}

TEST(Stages, aModelCompiledFromItsSavedIrIsTheSame) {
  const TempFolder folder;
  writeBytes(folder / "saved.mlir", emitted({"--emit=mlir"}));
  const std::string resumed = compiled(folder / "saved.mlir", {"--target=avx2"});
  EXPECT_TRUE(readBytes(resumed) == readBytes(compiled(tinyModel, {"--target=avx2"})));
}

TEST(Stages, theLoweredModuleIsLlvmDialectAndCannotBeResumed) {
  const TempFolder folder;
  const std::string text = emitted({"--emit=mlir", "--stop-after=lower-to-llvm"});
  EXPECT_THAT(text, HasSubstr("llvm.func"));
  EXPECT_THAT(text, Not(HasSubstr("inf.model")));
  writeBytes(folder / "lowered.mlir", text);
  expectRefused(infc({"compile", folder / "lowered.mlir", "-q", "-o", folder / "out.so"}), 4,
                {"inf.model", "found 0"});
}

TEST(Stages, emittedMlirIsTheStageBeforeLoweringUnlessStoppedEarlier) {
  EXPECT_THAT(emitted({"--emit=mlir"}), HasSubstr("stage = \"verify-plan\""));
}

TEST(Stages, emittedLlvmIsTheStepInLlvmIr) {
  const std::string text = emitted({"--emit=llvm"});
  EXPECT_THAT(text, HasSubstr("define"));
  EXPECT_THAT(text, HasSubstr("@inf_model_query("));
  EXPECT_THAT(text, HasSubstr("@inf_linear_int8_q8_"));
  EXPECT_THAT(text, Not(HasSubstr("llvm.func"))) << "not the MLIR dialect";
}

TEST(Stages, emittedAssemblyHoldsTheStepAndEveryKernel) {
  const std::string text = emitted({"--emit=asm"});
  EXPECT_THAT(text, HasSubstr("inf_model_query:"));
  EXPECT_THAT(text, HasSubstr("# inf_linear_int8_q8_"));
  EXPECT_THAT(text, HasSubstr("vfmadd"));
}

TEST(Stages, theEmittedObjectIsRelocatableCode) {
  const TempFolder folder;
  ASSERT_EQ(
      infc({"compile", tinyModel, "-q", "--target=avx2", "--emit=obj", "-o", folder / "o.o"}).code,
      0);
  const std::vector<uint8_t> bytes = readBytes(folder / "o.o");
  Elf64_Ehdr header;
  ASSERT_GT(bytes.size(), sizeof header);
  std::memcpy(&header, bytes.data(), sizeof header);
  EXPECT_EQ(std::memcmp(header.e_ident, ELFMAG, SELFMAG), 0);
  EXPECT_EQ(header.e_type, ET_REL);
  EXPECT_EQ(header.e_machine, EM_X86_64);
}

TEST(Stages, combinationsThatCannotWorkAreUsageErrors) {
  const TempFolder folder;
  const std::string out = folder / "out";
  auto compile = [&](Arguments flags) {
    flags.insert(flags.begin(), {"compile", tinyModel, "-q", "--target=avx2"});
    return infc(flags);
  };
  expectRefused(compile({"--emit=so", "-o", "-"}), 2, {"binary", "-o"});
  expectRefused(compile({"--stop-after=quantize", "-o", out}), 2, {"--emit=mlir"});
  expectRefused(compile({"--emit=mlir", "--stop-after=fuse", "-o", out}), 2,
                {"unknown stage \"fuse\"", "fuse-qkv"});
  expectRefused(compile({"--without=plan-memory", "-o", out}), 2, {"plan-memory", "left out"});
  expectRefused(compile({"--without=fuse", "-o", out}), 2, {"unknown stage \"fuse\""});
  expectRefused(compile({"--emit=exe", "-o", out}), 2, {"exe", "so"});
  expectRefused(compile({"--kv=f64", "-o", out}), 2, {"--kv", "f64"});
  expectRefused(compile({"--quant=int9", "-o", out}), 2, {"--quant", "int9"});
  EXPECT_TRUE(folder.names().empty()) << "nothing was written";
}

TEST(Stages, rulesByNameTakeTheMatricesTheyNameAndNothingElse) {
  for (const char *quant : {"--quant=int8,*.attention.*=int4,layers.0.*=bf16",
                            "--quant=*.attention.*=int4,lm_head=int8", "--quant=*=int4"}) {
    SCOPED_TRACE(quant);
    const std::string text = emitted({"--emit=mlir", "--stop-after=quantize", quant});
    EXPECT_THAT(text, HasSubstr("#inf.format<int4>"));
    EXPECT_THAT(text, testing::ContainsRegex("@layers.1.attention.norm.weight .*format<f32>"));
    EXPECT_THAT(text, testing::ContainsRegex("@embedding.weight .*format<bf16>"));
    EXPECT_THAT(text, testing::ContainsRegex("@layers.1.attention.o.weight .*format<int4>"));
  }
}

TEST(Stages, saveIrWritesOneNumberedFileForEachStageThatChangedSomething) {
  const TempFolder folder;
  ASSERT_EQ(infc({"compile", tinyModel, "-q", "--target=avx2", "--save-ir=" + folder / "ir",
                  "--without=fuse-router", "-o", folder / "out.so"})
                .code,
            0);
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(folder / "ir"))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  // Not among them: fuse-router, left out; specialize-blocks, fuse-norm (what the norms feed is
  // quantized), verify-kernels and verify-plan, which change nothing here.
  EXPECT_EQ(names, (std::vector<std::string>{
                       "00-import.mlir", "01-expand-moe.mlir", "02-quantize.mlir",
                       "04-quantize-activations.mlir", "05-fuse-qkv.mlir",
                       "07-fuse-rope-append.mlir", "09-fuse-epilogue.mlir", "10-fuse-quantize.mlir",
                       "11-select-kernels.mlir", "13-partition.mlir", "14-plan-memory.mlir"}));
}

class LeftOut : public testing::TestWithParam<const char *> {};

INSTANTIATE_TEST_SUITE_P(Targets, LeftOut, testing::Values("avx2", "avx512"), nameOfTarget);

TEST_P(LeftOut, anyOptionalStageOrAllOfThemTheModelComputesTheSame) {
  SKIP_UNLESS_RUNS(GetParam());
  // "Once upon a time, there was a little girl named Lily. She loved to play", and the tokens that
  // follow, as gpt-oss-tiny was published.
  const std::vector<int32_t> ids = {491, 475, 258, 420, 11,  405, 288, 258, 400,
                                    510, 490, 462, 13,  365, 610, 269, 379};
  const AllLogits fused = soloLogits(tinyExact(GetParam()), ids);
  std::vector<Arguments> choices = {optionalStages};
  if (GetParam() == std::string("avx2")) // which stage ran is the same for every target
    for (const std::string &stage : optionalStages)
      choices.push_back({stage});
  for (const Arguments &choice : choices) {
    const std::string model = tinyExact(GetParam(), leavingOut(choice));
    const AllLogits logits = soloLogits(model, ids);
    // Not the bits: see unfusedLogits.
    const double difference = largestDifference(logits, fused);
    EXPECT_LT(difference, unfusedLogits) << testing::PrintToString(choice);
    RecordProperty(fmt::format("{}", fmt::join(choice, "+")), fmt::format("{:.1e}", difference));
    const Finished finished = infrun({model, "--prompt", "Once upon a time", "--max-tokens", "24"});
    EXPECT_EQ(finished.out, ", there was a little girl named Lily. She loved to play with her toys "
                            "and eat yummy food. One day,")
        << testing::PrintToString(choice) << finished.err;
  }
}
