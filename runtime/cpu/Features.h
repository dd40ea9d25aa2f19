// CPU feature bits: what a kernel needs and what this machine offers.
//
// A feature counts as present only when CPUID reports it AND the operating system saves its
// registers (XCR0), and for AMX when the kernel grants the permission (arch_prctl).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inf {

/// One bit per feature. Values are part of the model.so format: append only.
enum class Feature : unsigned {
  SSE42 = 0,
  AVX,
  F16C,
  FMA,
  AVX2,
  BMI1,
  BMI2,
  AVXVNNI,
  AVX512F,
  AVX512BW,
  AVX512DQ,
  AVX512VL,
  AVX512CD,
  AVX512VNNI,
  AVX512BF16,
  AVX512VBMI,
  AVX512VBMI2,
  AVX512IFMA,
  AVX512BITALG,
  AVX512VPOPCNTDQ,
  AVX512FP16,
  GFNI,
  AMXTILE,
  AMXINT8,
  AMXBF16,
  AMXFP16,
  Count
};

/// A set of features; plain value, cheap to copy.
struct FeatureSet {
  uint64_t bits = 0;

  constexpr bool has(Feature f) const { return bits >> static_cast<unsigned>(f) & 1; }
  constexpr FeatureSet with(Feature f) const {
    return {bits | uint64_t{1} << static_cast<unsigned>(f)};
  }
  constexpr FeatureSet operator|(FeatureSet o) const { return {bits | o.bits}; }
  /// What `needed` has and this set lacks.
  constexpr FeatureSet missing(FeatureSet needed) const { return {needed.bits & ~bits}; }
  constexpr bool hasAny(FeatureSet o) const { return (bits & o.bits) != 0; }
  constexpr bool empty() const { return bits == 0; }
  constexpr bool operator==(const FeatureSet &) const = default;
  /// Lower-case names as /proc/cpuinfo writes them, in enum order ("avx2", "avx512_vnni"). A bit
  /// this version does not know (a model.so of a newer compiler) is named "feature-bit-N", so that
  /// a refusal never prints an empty list.
  std::vector<std::string> names() const;
  std::string toString() const; ///< names joined by ", "
};

/// The name as /proc/cpuinfo writes it; "unknown" for a value outside the enum.
std::string_view featureName(Feature f);
std::optional<Feature> featureByName(std::string_view name);

/// Where the raw words come from; injectable so that every machine can be tested on any other.
struct CpuidSource {
  struct Regs {
    uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  };
  std::function<Regs(uint32_t leaf, uint32_t subleaf)> cpuid;
  std::function<uint64_t()> xcr0;             ///< only called when OSXSAVE is set
  std::function<bool()> requestAmxPermission; ///< arch_prctl(ARCH_REQ_XCOMP_PERM, XTILEDATA);
                                              ///< only called when CPUID and XCR0 offer AMX
};

/// The machine we run on.
CpuidSource hostCpuid();

struct CpuFeatures {
  FeatureSet usable; ///< CPUID and XCR0 (and permission) agree
  std::vector<std::string>
      notices;               ///< one per feature that CPUID reports and we may not use, e.g.
                             ///< "avx512f is reported but the OS does not save zmm registers"
  std::string vendor, brand; ///< printable ASCII; empty when CPUID does not give them
};

/// Reads the words and applies the rules above. Sources: Intel SDM vol. 1, sections 14.3 (AVX),
/// 15.2 (AVX-512) and 18.3 (AMX); bit numbers from vol. 2, CPUID.
CpuFeatures detectFeatures(const CpuidSource &source);

} // namespace inf
