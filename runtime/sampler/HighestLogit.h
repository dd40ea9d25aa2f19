// The likeliest token of a row.
#pragma once

#include <cstdint>
#include <span>

namespace inf {

/// The index of the highest logit, the lowest among equals, in one pass. Fails with Internal,
/// naming the index, for NaN or +infinity, for no logits, and when every logit is -infinity.
int32_t highestLogit(std::span<const float> logits);

} // namespace inf
