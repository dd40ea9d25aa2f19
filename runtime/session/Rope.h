// Rotary position embedding: the rows of cos and sin that a step is given.
#pragma once

#include <cstdint>

#include "runtime/abi/inf_abi.h"

namespace inf {

/// Writes one row [2][head_dim / 2]: cos(position * inverse_frequencies[j]) * attention_factor,
/// then sin likewise. Computed in double and rounded once, since a float angle is off by a
/// thousandth of a turn and more at position 100,000. Formula: RoFormer (arXiv:2104.09864),
/// section 3.2; the factor: YaRN (arXiv:2309.00071), section 3.4.
void fillRopeRow(const inf_rope &rope, int32_t position, float *row);

} // namespace inf
