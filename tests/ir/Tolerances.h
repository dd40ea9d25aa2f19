// How far a value may be from the number worked out by hand.
#pragma once

namespace inf::test {

/// A handful of f32 operations on values near 1, each off by at most 6e-8 of its result.
inline constexpr float fewRoundings = 5e-7f;

} // namespace inf::test
