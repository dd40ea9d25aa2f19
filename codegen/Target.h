// A target is a set of CPU features with a name, not a rung of a ladder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/KernelSpec.h"
#include "runtime/cpu/Features.h"

namespace inf {

struct Target {
  std::string name;    ///< "avx2", "avx512", ..., never "native": that resolves to features
  FeatureSet features; ///< what generated code may use
  KernelIsa isa = KernelIsa::Avx2; ///< widest register family
  std::string llvmCpu;             ///< "x86-64", "x86-64-v3": baseline for glue code
  std::string llvmFeatures;        ///< "+avx2,+fma,...", derived from `features`
};

/// avx2, avx512, avx512vnni, avx512bf16, amx, haswell, skylake-avx512, cascadelake, icelake,
/// znver4, znver5, sapphirerapids, native, or one of these but native and more features,
/// "znver5+amx_fp16", as native calls a CPU that has more than any of them. Fails with Usage naming
/// the known ones; `native` fails with Machine when this CPU has no AVX2.
Target targetByName(std::string_view name);
std::vector<std::string> targetNames();

} // namespace inf
