// How far the reference interpreter's outputs may move when a pass changes the IR.
#pragma once

namespace inf::test {

/// Passes that only move operations or attach decisions: the same operations in the same order.
inline constexpr double unchanged = 0;

/// expand-moe + fuse-epilogue, experts: the sum over the k chosen experts starts from the residual
/// instead of being added to it, so each of k + 1 additions may round otherwise: with k = 4 and the
/// 6 layers of gpt-oss-tiny 30 roundings of 2^-24, relative to the largest value; norms keep it
/// relative. Measured: 6e-7.
inline constexpr double residualFirst = 30 * 0x1p-24;

/// The same where activations are rounded to int8: a value that moves by 2^-24 across the middle
/// between two steps moves by a step, 1/127 of the largest of its block, and so in layer after
/// layer.
inline constexpr double anotherStep = 1e-2;

} // namespace inf::test
