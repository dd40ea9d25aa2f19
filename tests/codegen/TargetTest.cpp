#include "codegen/Target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/Error.h"

namespace inf::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Target, EveryNameIsFoundAndCarriesItsIsa) {
  for (const std::string &name : targetNames()) {
    if (name == "native")
      continue;
    const Target target = targetByName(name);
    EXPECT_EQ(target.name, name);
    EXPECT_TRUE(target.features.has(Feature::AVX2));
    EXPECT_EQ(target.isa == KernelIsa::Avx512, target.features.has(Feature::AVX512F));
  }
}

TEST(Target, IsASetNotARung) {
  EXPECT_FALSE(targetByName("cascadelake").features.has(Feature::AVX512VBMI));
  EXPECT_TRUE(targetByName("znver4").features.has(Feature::AVX512BF16));
  EXPECT_FALSE(targetByName("icelake").features.has(Feature::AVX512BF16));
  EXPECT_FALSE(targetByName("znver5").features.has(Feature::AMXTILE));
}

TEST(Target, LlvmGetsTheBaselineCpuAndExactlyTheFeatures) {
  const Target avx2 = targetByName("avx2");
  EXPECT_EQ(avx2.llvmCpu, "x86-64");
  EXPECT_EQ(avx2.llvmFeatures, "+sse4.2,+avx,+f16c,+fma,+avx2,+bmi,+bmi2");
  EXPECT_THAT(targetByName("avx512").llvmFeatures, HasSubstr("+evex512"));
  EXPECT_THAT(targetByName("amx").llvmFeatures, HasSubstr("+amx-bf16"));
}

TEST(Target, CoversTheKernelsOfItsIsa) {
  for (const std::string &name : targetNames()) {
    if (name == "native")
      continue;
    const Target target = targetByName(name);
    KernelSpec spec;
    spec.isa = target.isa;
    for (WeightFormat format : {WeightFormat::F16, WeightFormat::MXFP4}) {
      spec.weights = format;
      EXPECT_TRUE(target.features.missing(kernelFeatures(spec)).empty()) << name;
    }
  }
}

TEST(Target, UnknownNameIsAUsageErrorListingTheKnownOnes) {
  try {
    targetByName("pentium4");
    FAIL() << "expected an error";
  } catch (const Error &error) {
    EXPECT_EQ(error.code, ErrorCode::Usage);
    EXPECT_THAT(error.what(), HasSubstr("sapphirerapids"));
  }
}

/// As `native` calls a CPU with more than any named target has: stages look it up again.
TEST(Target, FeaturesMayFollowAName) {
  const Target target = targetByName("sapphirerapids+amx_fp16");
  EXPECT_EQ(target.name, "sapphirerapids+amx_fp16");
  EXPECT_EQ(target.features, targetByName("sapphirerapids").features.with(Feature::AMXFP16));
  EXPECT_EQ(targetByName("avx2+gfni+avx_vnni").features,
            targetByName("avx2").features.with(Feature::GFNI).with(Feature::AVXVNNI));
  for (const char *name : {"avx2+", "avx2+gfni+", "avx2+teleport", "pentium4+gfni", "+gfni"})
    EXPECT_THROW(targetByName(name), Error) << name;
}

TEST(Target, NativeResolvesToTheFeaturesOfThisMachineUnderAnotherName) {
  const FeatureSet usable = detectFeatures(hostCpuid()).usable;
  if (!usable.missing(targetByName("avx2").features).empty()) {
    EXPECT_THROW(targetByName("native"), Error);
    return;
  }
  const Target target = targetByName("native");
  EXPECT_EQ(target.features, usable);
  EXPECT_EQ(targetByName(target.name).features, usable);
  EXPECT_THAT(target.name, Not(HasSubstr("native")));
}

} // namespace
} // namespace inf::test
