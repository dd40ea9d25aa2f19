#include "runtime/session/Rope.h"

#include <cmath>

namespace inf {

void fillRopeRow(const inf_rope &rope, int32_t position, float *row) {
  uint32_t half = rope.head_dim / 2;
  for (uint32_t j = 0; j < half; ++j) {
    double angle = position * rope.inverse_frequencies[j];
    row[j] = static_cast<float>(std::cos(angle) * rope.attention_factor);
    row[half + j] = static_cast<float>(std::sin(angle) * rope.attention_factor);
  }
}

} // namespace inf
