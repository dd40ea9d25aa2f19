// The reading of parts that a checkpoint keeps in a block format. Used by StoredRows.cpp.
#pragma once

#include <cstdint>

#include "runtime/format/StoredRows.h"

namespace inf {

/// Rows of such a part as blocks (runtime/format/Blocks.h) of its format, [run.count][columns/32].
/// A block whose values are not finite fails with BadInput naming weight, tensor and index.
void readStoredBlocks(const StoredRequest &request, const StoredRun &run, uint8_t *out);

/// `blocks` blocks to 32 values each.
void decodeBlocks(WeightFormat format, const uint8_t *in, uint64_t blocks, float *out);

} // namespace inf
