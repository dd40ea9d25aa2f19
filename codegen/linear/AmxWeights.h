// Packed blocks to what tiles multiply: signed bytes, and scales as floats.
#pragma once

#include "codegen/linear/AmxContext.h"

namespace inf {

/// Expands `blocks` blocks of `panels` panels from context.linear.cursor on into the frame, and
/// moves the cursor behind them. Done once a chunk, for the up to 64 rows that use it.
///
/// Signed for every format, so that tdpbssd starts from zero: unsigned codes (tdpbsud) would save
/// at most one operation a line here, 8 a block and panel, and cost the correction by minus16Sum,
/// 16 operations a block, panel and tile of rows. mxfp4's and int4's come from a table anyway.
void emitExpandedWeights(AmxContext &context, unsigned panels, unsigned blocks);

} // namespace inf
