// How far the reference interpreter's outputs may move when a pass changes the IR.
#pragma once

namespace inf::test {

/// Passes that only move operations or attach decisions: the same operations in the same order.
inline constexpr double unchanged = 0;

/// expand-moe + fuse-epilogue, experts: the sum over the chosen experts starts from the residual
/// instead of being added to it, so each of the k + 1 additions may round otherwise: k + 1 halves
/// of an ulp a layer, relative to the largest value of the row. The layers behind it carry the
/// change on; norms keep it relative. A layer's 3 ulps (k <= 4) times 6 layers, with a factor of 16
/// for what attention and logits do to it: 6 * 3 * 16 * 2^-24.
inline constexpr double residualFirst = 6 * 3 * 16 * 0x1p-24;

} // namespace inf::test
