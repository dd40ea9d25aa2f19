// How many rows a step may have where nobody says.
#pragma once

#include <cstdint>

namespace inf {

/// As many tokens of a prompt are computed at once: an expert of gpt-oss-20b then has 64 rows,
/// which many-row kernels want, and the arena is a few MB larger than for fewer.
inline constexpr int64_t defaultMaxRows = 512;
/// Rows that want logits: those of sequences decoded together.
inline constexpr int64_t defaultMaxOutputRows = 64;

} // namespace inf
