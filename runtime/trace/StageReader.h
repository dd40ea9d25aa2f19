// One output of a stage, read where the step left it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "runtime/abi/inf_abi.h"
#include "runtime/format/Manifest.h"

namespace inf {

/// Rows that `output` has in this step; 0 where the step wanted none.
uint64_t stageRows(const StageOutput &output, const inf_step &step);

/// Calls `vector` for each vector of each row, in order, with its bytes (without padding) and its
/// values as floats, valid during the call. `logitsStride` in floats.
void readStageOutput(const StageOutput &output, const inf_step &step, uint32_t logitsStride,
                     const std::function<void(std::span<const uint8_t> bytes,
                                              std::span<const float> values)> &vector);

} // namespace inf
