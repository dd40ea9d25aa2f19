#include "codegen/TargetAdvice.h"

#include <array>

#include <fmt/format.h>

namespace inf {
namespace {

/// What kernels differ by (KernelSpec's register families and dot products), where one has
/// something better than the next: with `covered` the first adds nothing.
struct Useful {
  Feature feature;
  Feature covered = Feature::Count;
};

constexpr std::array useful = {
    Useful{Feature::AVX512F},    Useful{Feature::AVXVNNI, Feature::AVX512VNNI},
    Useful{Feature::AVX512VNNI}, Useful{Feature::AVX512VBMI},
    Useful{Feature::AVX512BF16}, Useful{Feature::AMXINT8},
    Useful{Feature::AMXBF16}};

FeatureSet unusedFeatures(FeatureSet target, FeatureSet machine) {
  FeatureSet unused;
  for (const Useful &each : useful) {
    const bool better = each.covered != Feature::Count && machine.has(each.covered);
    if (machine.has(each.feature) && !target.has(each.feature) && !better)
      unused = unused.with(each.feature);
  }
  return unused;
}

} // namespace

std::optional<std::string> unusedFeaturesNote(const Target &target, FeatureSet machine) {
  const FeatureSet unused = unusedFeatures(target.features, machine);
  if (unused.empty() || !machine.missing(target.features).empty())
    return std::nullopt;
  return fmt::format("note: target {} leaves unused what this CPU has: {}. --target=native would "
                     "use it.",
                     target.name, unused.toString());
}

} // namespace inf
