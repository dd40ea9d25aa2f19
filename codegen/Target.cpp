#include "codegen/Target.h"

#include <bit>
#include <initializer_list>
#include <optional>

#include "runtime/base/Error.h"

namespace inf {
namespace {

FeatureSet setOf(std::initializer_list<Feature> features) {
  FeatureSet set;
  for (Feature feature : features)
    set = set.with(feature);
  return set;
}

struct NamedTarget {
  std::string_view name;
  FeatureSet features;
};

/// Generic names first, then CPUs; of equal sets the first is the one `native` reports.
std::vector<NamedTarget> namedTargets() {
  using enum Feature;
  const FeatureSet avx2 = setOf({SSE42, AVX, F16C, FMA, AVX2, BMI1, BMI2});
  const FeatureSet avx512 = avx2 | setOf({AVX512F, AVX512BW, AVX512DQ, AVX512VL, AVX512CD});
  const FeatureSet vnni = avx512.with(AVX512VNNI);
  const FeatureSet bf16 = vnni.with(AVX512BF16);
  // every CPU with tiles has VBMI
  const FeatureSet amx = bf16 | setOf({AVX512VBMI, AMXTILE, AMXINT8, AMXBF16});
  const FeatureSet icelake =
      vnni | setOf({AVX512VBMI, AVX512VBMI2, AVX512IFMA, AVX512BITALG, AVX512VPOPCNTDQ, GFNI});
  const FeatureSet znver4 = icelake.with(AVX512BF16);
  const FeatureSet znver5 = znver4.with(AVXVNNI);
  const FeatureSet sapphireRapids = znver5 | amx | setOf({AVX512FP16});
  return {{"avx2", avx2},
          {"avx512", avx512},
          {"avx512vnni", vnni},
          {"avx512bf16", bf16},
          {"amx", amx},
          {"haswell", avx2},
          {"skylake-avx512", avx512},
          {"cascadelake", vnni},
          {"icelake", icelake},
          {"znver4", znver4},
          {"znver5", znver5},
          {"sapphirerapids", sapphireRapids}};
}

/// LLVM's spelling of a feature (X86.td).
std::string_view llvmFeature(Feature feature) {
  switch (feature) {
  case Feature::SSE42:
    return "sse4.2";
  case Feature::AVX:
    return "avx";
  case Feature::F16C:
    return "f16c";
  case Feature::FMA:
    return "fma";
  case Feature::AVX2:
    return "avx2";
  case Feature::BMI1:
    return "bmi";
  case Feature::BMI2:
    return "bmi2";
  case Feature::AVXVNNI:
    return "avxvnni";
  case Feature::AVX512F:
    return "avx512f";
  case Feature::AVX512BW:
    return "avx512bw";
  case Feature::AVX512DQ:
    return "avx512dq";
  case Feature::AVX512VL:
    return "avx512vl";
  case Feature::AVX512CD:
    return "avx512cd";
  case Feature::AVX512VNNI:
    return "avx512vnni";
  case Feature::AVX512BF16:
    return "avx512bf16";
  case Feature::AVX512VBMI:
    return "avx512vbmi";
  case Feature::AVX512VBMI2:
    return "avx512vbmi2";
  case Feature::AVX512IFMA:
    return "avx512ifma";
  case Feature::AVX512BITALG:
    return "avx512bitalg";
  case Feature::AVX512VPOPCNTDQ:
    return "avx512vpopcntdq";
  case Feature::AVX512FP16:
    return "avx512fp16";
  case Feature::GFNI:
    return "gfni";
  case Feature::AMXTILE:
    return "amx-tile";
  case Feature::AMXINT8:
    return "amx-int8";
  case Feature::AMXBF16:
    return "amx-bf16";
  case Feature::AMXFP16:
    return "amx-fp16";
  case Feature::Count:
    break;
  }
  return "";
}

std::vector<Feature> featuresIn(FeatureSet set) {
  std::vector<Feature> features;
  for (unsigned i = 0; i < static_cast<unsigned>(Feature::Count); ++i)
    if (set.has(static_cast<Feature>(i)))
      features.push_back(static_cast<Feature>(i));
  return features;
}

std::string llvmFeatures(FeatureSet set) {
  std::string text;
  for (Feature feature : featuresIn(set)) {
    text += text.empty() ? "+" : ",+";
    text += llvmFeature(feature);
  }
  if (set.has(Feature::AVX512F))
    text += ",+evex512"; // LLVM 19 splits zmm registers off avx512f
  return text;
}

/// Baseline "x86-64", never a level such as x86-64-v3: levels hold instructions (LZCNT, MOVBE) that
/// have no bit in FeatureSet, so nobody would check for them.
Target makeTarget(std::string name, FeatureSet features) {
  const KernelIsa isa = features.has(Feature::AVX512F) ? KernelIsa::Avx512 : KernelIsa::Avx2;
  return {std::move(name), features, isa, "x86-64", llvmFeatures(features)};
}

/// The largest named set this machine covers, then "+feature" for what it has beyond: two machines
/// with the same features get the same name.
std::string nativeName(FeatureSet features) {
  const std::vector<NamedTarget> targets = namedTargets();
  const NamedTarget *best = &targets.front();
  for (const NamedTarget &target : targets)
    if (features.missing(target.features).empty() &&
        std::popcount(target.features.bits) > std::popcount(best->features.bits))
      best = &target;
  std::string name(best->name);
  for (const std::string &extra : best->features.missing(features).names())
    name += "+" + extra;
  return name;
}

Target nativeTarget() {
  const CpuFeatures cpu = detectFeatures(hostCpuid());
  const FeatureSet missing = cpu.usable.missing(namedTargets().front().features);
  if (!missing.empty())
    fail(ErrorCode::Machine,
         "target native: this CPU ({}) lacks {}, expected at least what avx2 means; compile for "
         "another machine by naming its target",
         cpu.brand, missing.toString());
  return makeTarget(nativeName(cpu.usable), cpu.usable);
}

/// Of "+feature+feature" from `at` on; nullopt when one is not known.
std::optional<FeatureSet> featuresBehind(std::string_view name, size_t at) {
  FeatureSet found;
  while (at != std::string_view::npos) {
    const size_t end = name.find('+', at + 1);
    const size_t length = end == std::string_view::npos ? end : end - at - 1;
    const std::optional<Feature> feature = featureByName(name.substr(at + 1, length));
    if (!feature)
      return std::nullopt;
    found = found.with(*feature);
    at = end;
  }
  return found;
}

} // namespace

Target targetByName(std::string_view name) {
  if (name == "native")
    return nativeTarget();
  const size_t plus = name.find('+');
  for (const NamedTarget &target : namedTargets())
    if (target.name == name.substr(0, plus))
      if (std::optional<FeatureSet> extra = featuresBehind(name, plus))
        return makeTarget(std::string(name), target.features | *extra);
  std::string known;
  for (const std::string &each : targetNames())
    known += (known.empty() ? "" : ", ") + each;
  fail(ErrorCode::Usage, "unknown target '{}', expected one of {}", name, known);
}

std::vector<std::string> targetNames() {
  std::vector<std::string> names;
  for (const NamedTarget &target : namedTargets())
    names.emplace_back(target.name);
  names.emplace_back("native");
  return names;
}

} // namespace inf
