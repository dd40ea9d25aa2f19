// What a target leaves unused of the CPU that its code is going to run on.
#pragma once

#include <optional>
#include <string>

#include "codegen/Target.h"

namespace inf {

/// A note for whoever compiles for `target` on a machine with `machine`: which features that
/// kernels would use the target leaves out. nullopt when there are none, and when the target's code
/// doesn't run on that machine: then it is for another one.
std::optional<std::string> unusedFeaturesNote(const Target &target, FeatureSet machine);

} // namespace inf
