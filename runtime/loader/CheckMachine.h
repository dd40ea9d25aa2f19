// May this machine run code that needs these features? Answered before any of it is loaded.
#pragma once

#include <string>

#include "runtime/cpu/Features.h"

namespace inf {

/// The machine a model is loaded on; tests describe others.
struct MachineFacts {
  FeatureSet features;
  std::string cpuName; ///< for messages: "AMD EPYC 7B13"
};

/// What this CPU and OS offer (runtime/cpu).
MachineFacts hostMachine();

/// Fails with Machine, naming the missing features, this CPU and the `infc compile --target=…`
/// whose code it can run. `target` is the name the model was compiled for.
void checkMachine(FeatureSet needed, const MachineFacts &machine, const std::string &target,
                  const std::string &path);

/// The widest target of infc whose features this machine has; "" when it lacks even AVX2, the least
/// any target needs.
std::string suggestedTarget(FeatureSet machine);

} // namespace inf
