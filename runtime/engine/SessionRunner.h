#pragma once

#include <memory>

#include "runtime/engine/EngineOptions.h"
#include "runtime/engine/StepRunner.h"
#include "runtime/loader/Model.h"

namespace inf {

/// A session of the model, as the options say. Fails as Session does, and with Machine when not
/// even one sequence's keys and values fit into memory.
std::unique_ptr<StepRunner> makeSessionRunner(std::shared_ptr<const Model> model,
                                              const EngineOptions &options);

} // namespace inf
