// The inside of one panel (16 output rows) of the panel layouts drawn in Pack.h.
#pragma once

#include <cstdint>

#include "runtime/format/Pack.h"
#include "runtime/format/WeightDecl.h"
#include "runtime/format/WeightSource.h"

namespace inf {

uint64_t panelBytes(PackedSpec spec, uint64_t columns);

/// Writes the panel of logical rows [firstRow, firstRow + count), count in 1..16, rest zeros.
/// `out`: panelBytes(spec, decl.columns).
void packPanel(const WeightDecl &decl, PackedSpec spec, const WeightSource &source, uint64_t expert,
               uint64_t firstRow, uint64_t count, uint8_t *out);

/// Output `lane` (0..15) of a packed panel as f32 [columns].
void unpackPanelLane(PackedSpec spec, uint64_t columns, const uint8_t *panel, uint64_t lane,
                     float *out);

} // namespace inf
