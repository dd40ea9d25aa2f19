#include "codegen/TargetAdvice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inf::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

FeatureSet featuresOf(const char *target) { return targetByName(target).features; }

std::string note(const char *target, FeatureSet machine) {
  return unusedFeaturesNote(targetByName(target), machine).value_or("");
}

TEST(TargetAdvice, NamesWhatTheTargetLeavesUnusedAndHowToUseIt) {
  EXPECT_THAT(note("avx512", featuresOf("znver4")),
              AllOf(HasSubstr("target avx512"), HasSubstr("avx512_vnni"), HasSubstr("avx512vbmi"),
                    HasSubstr("avx512_bf16"), HasSubstr("--target=native")));
  EXPECT_THAT(note("avx512bf16", featuresOf("sapphirerapids")),
              AllOf(HasSubstr("avx512vbmi"), HasSubstr("amx_int8"), HasSubstr("amx_bf16"),
                    Not(HasSubstr("avx512_bf16"))));
  EXPECT_THAT(note("avx2", featuresOf("avx2").with(Feature::AVXVNNI)), HasSubstr("avx_vnni"));
  EXPECT_THAT(note("avx2", featuresOf("avx512")), HasSubstr("avx512f"));
}

TEST(TargetAdvice, IsSilentAboutTheWholeCpu) {
  for (const std::string &name : targetNames()) {
    if (name == "native")
      continue;
    EXPECT_EQ(note(name.c_str(), featuresOf(name.c_str())), "") << name;
  }
}

TEST(TargetAdvice, IsSilentAboutWhatNoKernelWouldUse) {
  EXPECT_EQ(note("cascadelake", featuresOf("cascadelake").with(Feature::GFNI)), "");
  EXPECT_EQ(note("znver4", featuresOf("znver5")), "") << "AVX-VNNI beside AVX512-VNNI";
}

TEST(TargetAdvice, IsSilentAboutATargetForAnotherCpu) {
  EXPECT_EQ(note("cascadelake", featuresOf("avx2").with(Feature::AVXVNNI)), "");
  EXPECT_EQ(note("amx", featuresOf("znver5")), "");
}

} // namespace
} // namespace inf::test
