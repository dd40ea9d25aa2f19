// How a linear kernel cuts rows and panels into tiles of registers. Nothing here changes a bit of
// the results.
#pragma once

#include "codegen/KernelSpec.h"

namespace inf {

/// Kernels on AMX tiles (AmxExactProduct.cpp, AmxProduct.cpp, AmxBf16Product.cpp).
namespace amxtiles {
inline constexpr unsigned tileRows = 16;   ///< of x in a tile: the row tile in a kernel's name
inline constexpr unsigned groupRows = 128; ///< q8 rows that are laid out for tiles together
inline constexpr unsigned fewestRows = 8;  ///< of a call; fewer are left to vector registers
inline constexpr unsigned frameBytes = 14 * 1024 + 192; ///< q8
/// In the call's scratch: of a panel's block of 32 columns, expanded, and of that of a tile of
/// rows.
inline constexpr int blockBytes = 640;
inline constexpr unsigned bf16FrameBytes = 22 * 1024 + 192;
} // namespace amxtiles

/// Widest row tile of bf16 rows summed by groups: three sums an output fill the registers.
inline constexpr unsigned mostGroupRows = 4;

/// Widest row tile in vector registers.
inline unsigned vectorRows(const KernelSpec &spec) {
  if (spec.isa != KernelIsa::Amx)
    return spec.rows;
  return spec.inputs == InputFormat::BF16 ? mostGroupRows : 6;
}

inline bool isPair(const KernelSpec &spec) { return spec.activation != Activation::None; }

/// Panels are reduced in groups side by side as long as the number of rows says so and enough
/// panels are left; what remains goes one panel at a time.
struct Tiling {
  static constexpr unsigned anyRows = ~0u;
  unsigned groupPanels;          ///< side by side; 1: no groups
  unsigned groupRows;            ///< widest row tile of a group
  unsigned fewestRows, mostRows; ///< of the call, for groups
  unsigned panelRows;            ///< widest row tile of a single panel
  bool everyTile;                ///< tiles of every smaller number of rows, or powers of two
};

/// Float: one or two rows leave the multipliers idle, as an output's sum is a chain and each link
/// waits for the one before; panels side by side fill them.
/// Bf16: as q8 but for few rows, whose chain is as long as the row: two panels are two chains.
/// Q8: chains end with each block, so few rows need one panel only, a single stream. Many rows
/// share what they load: two panels use a group of activations for each time it is loaded.
inline Tiling tilingOf(const KernelSpec &spec) {
  if (spec.inputs == InputFormat::F32)
    return isWide(spec.isa) ? Tiling{4, 2, 1, 2, spec.rows, false}
                            : Tiling{2, 1, 1, 1, spec.rows, false};
  if (!isWide(spec.isa))
    return {1, 0, 0, 0, spec.rows, true};
  const unsigned rows = vectorRows(spec);
  return {2, rows, spec.inputs == InputFormat::BF16 ? 1u : 5u, Tiling::anyRows, rows, true};
}

} // namespace inf
