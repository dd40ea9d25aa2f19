// The programs on CPUs that this machine is not, emulated by qemu: an instruction that the named
// CPU lacks ends them with SIGILL there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/TargetAdvice.h"
#include "runtime/loader/CheckMachine.h"
#include "tests/e2e/Models.h"

using namespace inf;
using namespace inf::test;
using testing::HasSubstr;
using testing::Not;

namespace {

constexpr const char *plainX86 = "qemu64";  // SSE3 at most
constexpr const char *version2 = "Nehalem"; // x86-64-v2: SSE4.2, no AVX
constexpr const char *version3 = "Haswell"; // AVX2, no AVX-512

/// A qemu that is not installed fails the test: `env` says so with exit code 127.
Finished onCpu(const std::string &cpu, const std::string &program, const Arguments &arguments) {
  Arguments command = {"qemu-x86_64", "-cpu", cpu, program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  Finished finished = run("/usr/bin/env", command);
  EXPECT_NE(finished.code, 127) << "qemu-user is missing (scripts/install-deps): " << finished.err;
  return finished;
}

/// The first stage alone, which takes no time.
Arguments importOnly(const std::string &target, const Arguments &more = {}) {
  Arguments arguments = {"compile",     tinyModel,     "--target=" + target, "--weights=none",
                         "--emit=mlir", "-o/dev/null", "--stop-after=import"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

void expectSays(const Finished &finished, const std::string &text) {
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr(text));
}

} // namespace

TEST(CpuWithoutAvx, isAskedForVersionsAndHelp) {
  expectSays(onCpu(version2, INFRUN_PATH, {"--version"}), "infrun 0.");
  expectSays(onCpu(version2, INFRUN_PATH, {"--help"}), "Usage: infrun");
  expectSays(onCpu(version2, INFC_PATH, {"--version"}), "infc 0.");
  expectSays(onCpu(version2, INFC_PATH, {"--help"}), "Usage: infc");
}

TEST(CpuWithoutAvx, isExaminedByTheDoctor) {
  expectSays(onCpu(version2, INFRUN_PATH, {"doctor"}), "sse4_2\n");
  expectSays(onCpu(plainX86, INFRUN_PATH, {"doctor"}), "features      none\n");
}

TEST(CpuWithoutAvx, inspectsModelsThatItCannotRun) {
  const std::string model = tinyDefault("avx512");
  expectSays(onCpu(version2, INFC_PATH, {"inspect", model}), "avx512f");
  expectSays(onCpu(version2, INFC_PATH, {"inspect", "--asm", model}), "zmm");
}

TEST(CpuWithoutAvx, isNamedWithWhatItLacksInsteadOfRunningAModel) {
  const std::string model = tinyDefault("avx2");
  for (const Arguments &command : {Arguments{model, "--prompt", "Once"}, Arguments{"bench", model},
                                   Arguments{"score", model, "--text", "/dev/null"},
                                   Arguments{"chat", model}, Arguments{"serve", model}})
    expectRefused(onCpu(version2, INFRUN_PATH, command), 3,
                  {"needs avx, f16c, fma, avx2", "Nehalem", "use another machine"});
}

TEST(CpuWithoutAvx, isNamedWithWhatItLacksInsteadOfCompilingForIt) {
  expectRefused(onCpu(version2, INFC_PATH, {"compile", tinyModel, "-o", "/tmp/never.so"}), 3,
                {"target native", "lacks avx, f16c, fma, avx2", "naming its target"});
}

TEST(CpuWithoutAvx512, runsAModelForAvx2ToTheSameBits) {
  SKIP_UNLESS_RUNS("avx2");
  const Arguments command = {tinyDefault("avx2"), "--prompt", "Once upon", "--max-tokens", "4"};
  const Finished emulated = onCpu(version3, INFRUN_PATH, command), here = infrun(command);
  EXPECT_EQ(emulated.code, 0) << emulated.err;
  EXPECT_EQ(emulated.out, here.out);
  const size_t hash = here.err.rfind("logits ");
  ASSERT_NE(hash, std::string::npos) << here.err;
  EXPECT_THAT(emulated.err, HasSubstr(here.err.substr(hash)));
}

TEST(CpuWithoutAvx512, isNamedWithWhatItLacksAndATargetThatItHas) {
  const Arguments command = {tinyDefault("avx512"), "--prompt", "Once upon"};
  expectRefused(onCpu(version3, INFRUN_PATH, command), 3,
                {"needs avx512f, avx512bw", "Haswell", "--target=avx2"});
}

TEST(TargetNote, isOneLineAboutTheCpuThatCompiles) {
  const std::string expected =
      unusedFeaturesNote(targetByName("avx2"), hostMachine().features).value_or("");
  const Finished said = infc(importOnly("avx2")), quiet = infc(importOnly("avx2", {"-q"}));
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.err, expected.empty() ? "" : "infc: " + expected + "\n");
  EXPECT_EQ(quiet.err, "");
}

TEST(TargetNote, isNotSaidOfATargetThatUsesAllOrIsForAnotherCpu) {
  for (const char *target : {"avx2", "avx512"}) {
    const Finished finished = onCpu(version3, INFC_PATH, importOnly(target));
    EXPECT_EQ(finished.code, 0) << finished.err;
    EXPECT_THAT(finished.err, Not(HasSubstr("note: "))) << target;
  }
}
