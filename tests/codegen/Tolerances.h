// How far a kernel may be from the mathematics, each with its reason. Against the ordered scalar
// reference no tolerance exists: the bits must be equal.
#pragma once

namespace inf::test {

/// Unit roundoff of f32: the relative error of one rounded operation.
inline constexpr double roundoff = 0x1p-24;

/// A sum of n products by FMAs in any fixed order is off by at most about n roundoffs of
/// sum |w x| (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1); the extra
/// steps are the epilogue and the joining of partial sums.
inline constexpr double epilogueSteps = 8;

/// exp on [minInput, maxInput], in units in the last place of the result: half for the final
/// rounding, the rest for the last steps of the polynomial. Measured by ExpTest: 0.88.
inline constexpr double expUlps = 1.0;

/// silu and the clamped form after their inputs: exp, +1, division and two products.
inline constexpr double activationRelative = 8 * roundoff;
/// |d/dx (x sigmoid(a x))| stays below this for a up to 2.
inline constexpr double siluSlope = 1.11;

/// Attention against double: the scores' error (head_dim roundoffs of sum |q k| * scale) is what
/// exp turns into a relative error of p; sums and products add a few hundred roundoffs at most for
/// the key counts tested. Relative to the largest |value|.
inline constexpr double attention = 2e-5;
/// With bf16 dots, q being rounded in both: each p is off by half a unit of bf16, 2^-9, and so is
/// their sum. Relative to the largest |value|.
inline constexpr double attentionOfBf16 = 0x1p-8;

} // namespace inf::test
