// Packed blocks to what tiles of int8 multiply: signed bytes, and scales as floats.
#pragma once

#include "codegen/linear/AmxContext.h"

namespace inf {

/// A block of a panel, expanded: 8 lines of codes, one of scales, one of minimums.
namespace amxblock {
inline constexpr int bytes = amxtiles::blockBytes, scalesAt = 512, minimumsAt = 576;
} // namespace amxblock

/// Expands the panel at `from`, all columns, to `to`; moves both behind it. Done once for the up to
/// 128 rows that use it.
///
/// Signed for every format, so that tdpbssd starts from zero: unsigned codes (tdpbsud) would save
/// at most one operation a line here, 8 a block and panel, and cost the correction by minus16Sum,
/// 16 operations a block, panel and tile of rows. mxfp4's and int4's come from a table anyway.
void emitExpandedPanel(AmxContext &context, const Gpr &from, const Gpr &to);

} // namespace inf
