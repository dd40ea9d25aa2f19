#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/loader/CheckMachine.h"
#include "tests/runtime/session/FakeModel.h"

using namespace inf;
using namespace inf::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace {

FeatureSet avx2() {
  return FeatureSet{}.with(Feature::AVX).with(Feature::AVX2).with(Feature::FMA).with(Feature::F16C);
}

FeatureSet avx512() {
  return avx2()
      .with(Feature::AVX512F)
      .with(Feature::AVX512BW)
      .with(Feature::AVX512DQ)
      .with(Feature::AVX512VL);
}

} // namespace

TEST(CheckMachine, whatIsMissingIsNamedWithTheCpuAndAFlagThatWorks) {
  MachineFacts broadwell = {avx2(), "Intel(R) Xeon(R) CPU E5-2680 v4"};
  FeatureSet needed = avx512().with(Feature::AVX512VNNI);
  EXPECT_THAT(refusal([&] { checkMachine(needed, broadwell, "avx512vnni", "model.so"); }),
              AllOf(HasSubstr("3: 'model.so' was compiled for target 'avx512vnni'"),
                    HasSubstr("avx512f"), HasSubstr("avx512_vnni"), HasSubstr("E5-2680"),
                    HasSubstr("infc compile --target=avx2"), Not(HasSubstr("fma"))));
}

TEST(CheckMachine, aMachineWithEverythingIsNotRefused) {
  EXPECT_EQ(refusal([&] {
              checkMachine(avx2(), {avx512(), "any"}, "avx2", "m.so");
            }),
            "not refused");
}

TEST(CheckMachine, aBitOfANewerCompilerIsNamed) {
  EXPECT_THAT(refusal([&] {
                checkMachine({uint64_t{1} << 60}, {avx512(), "any"}, "x", "m.so");
              }),
              HasSubstr("feature-bit-60"));
}

TEST(CheckMachine, theSuggestionIsTheWidestTargetThatRuns) {
  EXPECT_EQ(suggestedTarget({}), "");
  EXPECT_EQ(suggestedTarget(avx2()), "avx2");
  EXPECT_EQ(suggestedTarget(avx512()), "avx512");
  EXPECT_EQ(suggestedTarget(avx512().with(Feature::AVX512VNNI)), "avx512vnni");
  EXPECT_EQ(suggestedTarget(avx2().with(Feature::AVXVNNI)), "avx2");
  EXPECT_THAT(refusal([&] {
                checkMachine(avx2(), {{}, "old"}, "avx2", "m.so");
              }),
              HasSubstr("use another machine"));
}
