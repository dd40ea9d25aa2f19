// How a linear kernel cuts rows and panels into tiles of registers. Nothing here changes a bit of
// the results.
#pragma once

#include <array>

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

/// Panels reduced side by side, for calls of so many rows. 1 panel: no group.
struct PanelGroup {
  static constexpr unsigned anyRows = ~0u;
  unsigned panels = 1;
  unsigned rows = 0;                     ///< widest row tile
  unsigned fewestRows = 0, mostRows = 0; ///< of the call
};

/// Panels are reduced in groups as long as the number of rows says so and enough panels are left;
/// what remains goes one panel at a time.
struct Tiling {
  std::array<PanelGroup, 2> groups; ///< of these at most one takes a number of rows
  unsigned panelRows;               ///< widest row tile of a single panel
  bool everyTile;                   ///< tiles of every smaller number of rows, or powers of two
};

/// One row of q8 on a CPU with AMX (OneRowDots.h).
inline constexpr unsigned oneRowPanels = 8;

/// Float: one or two rows leave the multipliers idle, as an output's sum is a chain and each link
/// waits for the one before; panels side by side fill them.
/// Bf16: as q8 but for few rows, whose chain is as long as the row: two panels are two chains.
/// Q8: chains end with each block, so few rows need one panel only, a single stream. Many rows
/// share what they load: two panels use a group of activations for each time it is loaded.
inline Tiling tilingOf(const KernelSpec &spec) {
  if (spec.inputs == InputFormat::F32)
    return {{isWide(spec.isa) ? PanelGroup{4, 2, 1, 2} : PanelGroup{2, 1, 1, 1}}, spec.rows, false};
  if (!isWide(spec.isa))
    return {{}, spec.rows, true};
  const unsigned rows = vectorRows(spec);
  const bool bf16 = spec.inputs == InputFormat::BF16;
  const PanelGroup pairs{2, rows, bf16 ? 1u : 5u, PanelGroup::anyRows};
  if (bf16 || spec.isa != KernelIsa::Amx)
    return {{pairs}, rows, true};
  return {{pairs, PanelGroup{oneRowPanels, 1, 1, 1}}, rows, true};
}

} // namespace inf
