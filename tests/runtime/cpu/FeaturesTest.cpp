#include "runtime/cpu/Features.h"

#include "runtime/base/Error.h"
#include "tests/runtime/cpu/FakeCpuid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inf {
namespace {

using test::FakeCpu;
using test::sourceOf;
using testing::HasSubstr;

constexpr uint32_t bit(unsigned n) { return uint32_t{1} << n; }

struct Machine {
  std::string name;
  FakeCpu cpu;
  std::string usable;
  size_t notices;
};

FakeCpu without(FakeCpu cpu, uint64_t xcr0) {
  cpu.xcr0 &= ~xcr0;
  return cpu;
}

FakeCpu osxsaveOff(FakeCpu cpu) {
  cpu.leaf1Ecx &= ~bit(27);
  return cpu;
}

FakeCpu refused(FakeCpu cpu) {
  cpu.amxPermission = false;
  return cpu;
}

const char *const baseNames = "sse4_2, avx, f16c, fma, avx2, bmi1, bmi2";

std::vector<Machine> machines() {
  const std::string base = baseNames;
  const std::string skylake = ", avx512f, avx512bw, avx512dq, avx512vl, avx512cd, avx512_vnni";
  const std::string modern = ", avx_vnni, avx512f, avx512bw, avx512dq, avx512vl, avx512cd, "
                             "avx512_vnni, avx512_bf16, avx512vbmi, avx512_vbmi2, avx512ifma, "
                             "avx512_bitalg, avx512_vpopcntdq";
  FakeCpu shortLeaves = test::sapphireRapids();
  shortLeaves.maxLeaf = 1;
  FakeCpu noFoundation = test::cascadeLake();
  noFoundation.leaf7Ebx &= ~bit(16);
  FakeCpu noTile = test::sapphireRapids();
  noTile.leaf7Edx &= ~bit(24);
  FakeCpu noSubleaf = test::alderLake();
  noSubleaf.maxSubleaf7 = 0;
  FakeCpu noAvx = test::broadwell();
  noAvx.leaf1Ecx &= ~bit(28);
  return {
      {"Broadwell has AVX2 only", test::broadwell(), base, 0},
      {"Cascade Lake has VNNI without VBMI", test::cascadeLake(), base + skylake, 0},
      {"Alder Lake has AVX-VNNI without AVX-512", test::alderLake(), base + ", avx_vnni, gfni", 0},
      {"Sapphire Rapids has AMX", test::sapphireRapids(),
       base + modern + ", avx512_fp16, gfni, amx_tile, amx_int8, amx_bf16", 0},
      {"Zen 5 has no AMX and no FP16", test::zen5(), base + modern + ", gfni", 0},
      {"AVX-512 without zmm state is unusable", without(test::cascadeLake(), 0xe0), base, 6},
      {"opmask state alone is not enough", without(test::cascadeLake(), 0xc0), base, 6},
      {"tile state needs both bits", without(test::sapphireRapids(), 0x20000),
       base + modern + ", avx512_fp16, gfni", 3},
      {"AMX without permission is unusable", refused(test::sapphireRapids()),
       base + modern + ", avx512_fp16, gfni", 3},
      {"without ymm state only scalar features stay", without(test::broadwell(), 0x4),
       "sse4_2, bmi1, bmi2", 4},
      {"without OSXSAVE only scalar features stay", osxsaveOff(test::sapphireRapids()),
       "sse4_2, bmi1, bmi2, gfni", 21},
      {"subfeatures need AVX512F", noFoundation, base, 5},
      {"AMX types need tiles", noTile, base + modern + ", avx512_fp16, gfni", 2},
      {"leaf 7 beyond the highest leaf is not read", shortLeaves, "sse4_2, avx, f16c, fma", 0},
      {"subleaf 1 beyond the highest is not read", noSubleaf, base + ", gfni", 0},
      {"AVX2 needs AVX", noAvx, "sse4_2, bmi1, bmi2", 3},
      {"nothing at all", FakeCpu{}, "", 0},
  };
}

TEST(Features, MachinesOfferWhatCpuidAndOsAgreeOn) {
  for (const Machine &machine : machines()) {
    const CpuFeatures features = detectFeatures(sourceOf(machine.cpu));
    EXPECT_EQ(features.usable.toString(), machine.usable) << machine.name;
    EXPECT_EQ(features.notices.size(), machine.notices) << machine.name;
  }
}

TEST(Features, NoticeNamesFeatureAndMissingRegisters) {
  const CpuFeatures zmm = detectFeatures(sourceOf(without(test::cascadeLake(), 0xe0)));
  ASSERT_FALSE(zmm.notices.empty());
  EXPECT_EQ(zmm.notices[0], "avx512f is reported but the OS does not save zmm registers");
  const CpuFeatures amx = detectFeatures(sourceOf(refused(test::sapphireRapids())));
  ASSERT_FALSE(amx.notices.empty());
  EXPECT_THAT(amx.notices[0], HasSubstr("amx_tile is reported but the kernel refused"));
}

TEST(Features, Xcr0IsReadOnlyWithOsxsave) {
  int reads = 0; // xgetbv without OSXSAVE is an illegal instruction
  detectFeatures(sourceOf(osxsaveOff(test::zen5()), &reads));
  EXPECT_EQ(reads, 0);
  detectFeatures(sourceOf(test::zen5(), &reads));
  EXPECT_EQ(reads, 1);
}

TEST(Features, AmxPermissionIsRequestedOnlyWhereAmxCouldWork) {
  int requests = 0;
  detectFeatures(sourceOf(test::zen5(), nullptr, &requests));
  detectFeatures(sourceOf(without(test::sapphireRapids(), 0x40000), nullptr, &requests));
  EXPECT_EQ(requests, 0);
  detectFeatures(sourceOf(test::sapphireRapids(), nullptr, &requests));
  EXPECT_EQ(requests, 1);
}

TEST(Features, MissingCallbacksMeanNoOsSupport) {
  CpuidSource source = sourceOf(test::sapphireRapids());
  source.requestAmxPermission = nullptr;
  EXPECT_FALSE(detectFeatures(source).usable.has(Feature::AMXTILE));
  source.xcr0 = nullptr;
  EXPECT_FALSE(detectFeatures(source).usable.has(Feature::AVX));
  source.cpuid = nullptr;
  EXPECT_THROW(detectFeatures(source), Error);
}

TEST(Features, VendorAndBrandAreTrimmedPrintableText) {
  const CpuFeatures intel = detectFeatures(sourceOf(test::broadwell()));
  EXPECT_EQ(intel.vendor, "GenuineIntel");
  EXPECT_EQ(intel.brand, "Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz");
  EXPECT_EQ(detectFeatures(sourceOf(test::zen5())).vendor, "AuthenticAMD");
  FakeCpu hostile = test::broadwell();
  hostile.brand = "evil\x1b[2Jcpu";
  EXPECT_EQ(detectFeatures(sourceOf(hostile)).brand, "evil?[2Jcpu");
}

TEST(Features, NamesGoThereAndBack) {
  for (unsigned i = 0; i < static_cast<unsigned>(Feature::Count); ++i) {
    const auto feature = static_cast<Feature>(i);
    EXPECT_EQ(featureByName(featureName(feature)), feature);
  }
  EXPECT_EQ(featureByName("AVX2"), std::nullopt);
  EXPECT_EQ(featureByName(""), std::nullopt);
  EXPECT_EQ(featureName(Feature::Count), "unknown");
}

TEST(Features, ValuesAreFixedByTheFileFormat) {
  EXPECT_EQ(static_cast<unsigned>(Feature::AVXVNNI), 7u);
  EXPECT_EQ(static_cast<unsigned>(Feature::AVX512F), 8u);
  EXPECT_EQ(static_cast<unsigned>(Feature::AVX512VNNI), 13u);
  EXPECT_EQ(static_cast<unsigned>(Feature::GFNI), 21u);
  EXPECT_EQ(static_cast<unsigned>(Feature::AMXFP16), 25u);
}

TEST(Features, SetNamesWhatIsMissingAndUnknownBits) {
  const FeatureSet have = FeatureSet{}.with(Feature::AVX).with(Feature::AVX2);
  const FeatureSet need = have.with(Feature::AVX512VNNI).with(Feature::AMXINT8);
  EXPECT_EQ(have.missing(need).toString(), "avx512_vnni, amx_int8");
  EXPECT_TRUE(need.missing(have).empty());
  EXPECT_EQ((FeatureSet{uint64_t{1} << 63}).toString(), "feature-bit-63");
}

TEST(Features, HostDetectionRunsAndIsConsistent) {
  const CpuFeatures host = detectFeatures(hostCpuid());
  EXPECT_FALSE(host.vendor.empty());
  if (host.usable.has(Feature::AVX2)) {
    EXPECT_TRUE(host.usable.has(Feature::AVX));
    EXPECT_TRUE(__builtin_cpu_supports("avx2"));
  }
  EXPECT_EQ(host.usable.has(Feature::AVX512F), __builtin_cpu_supports("avx512f") != 0);
}

} // namespace
} // namespace inf
