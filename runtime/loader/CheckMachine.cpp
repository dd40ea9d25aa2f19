#include "runtime/loader/CheckMachine.h"

#include <initializer_list>

#include "runtime/base/Error.h"

namespace inf {
namespace {

FeatureSet setOf(std::initializer_list<Feature> features) {
  FeatureSet set;
  for (Feature f : features)
    set = set.with(f);
  return set;
}

struct KnownTarget {
  const char *name;
  FeatureSet telling; ///< enough to tell it from the next one: only a suggestion rests on it
};

} // namespace

MachineFacts hostMachine() {
  CpuFeatures host = detectFeatures(hostCpuid());
  return {host.usable, host.brand.empty() ? "this CPU" : host.brand};
}

std::string suggestedTarget(FeatureSet machine) {
  using enum Feature;
  const FeatureSet avx512 = setOf({AVX2, FMA, AVX512F, AVX512BW, AVX512DQ, AVX512VL});
  const KnownTarget widestFirst[] = {
      {"amx", avx512 | setOf({AVX512VNNI, AVX512BF16, AVX512VBMI, AMXTILE, AMXINT8, AMXBF16})},
      {"avx512bf16", avx512 | setOf({AVX512VNNI, AVX512BF16})},
      {"avx512vnni", avx512 | setOf({AVX512VNNI})},
      {"avx512", avx512},
      {"avx2", setOf({AVX2, FMA})},
  };
  for (const KnownTarget &target : widestFirst)
    if (machine.missing(target.telling).empty())
      return target.name;
  return "";
}

void checkMachine(FeatureSet needed, const MachineFacts &machine, const std::string &target,
                  const std::string &path) {
  FeatureSet missing = machine.features.missing(needed);
  if (missing.empty())
    return;
  std::string suggested = suggestedTarget(machine.features);
  std::string next =
      suggested.empty()
          ? "Every target needs at least AVX2: use another machine."
          : fmt::format("Compile the model for it with `infc compile --target={}`.", suggested);
  fail(
      ErrorCode::Machine,
      "'{}' was compiled for target '{}' and cannot run here: it needs {}, which this machine ({}) "
      "does not offer. {} `infrun doctor` lists what it offers and why.",
      path, target, missing.toString(), machine.cpuName, next);
}

} // namespace inf
