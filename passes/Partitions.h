// How each op may be cut over threads.
#pragma once

#include "ir/dialect/InfDialect.h"

namespace inf {

/// The cut that inf-partition gives `op`; null when it is no stage. By hand only the row tile, the
/// grain of outputs in multiples of this one, and how many rows of attention may be split over
/// their keys may differ (inf-verify-plan).
ir::PartitionAttr naturalPartition(mlir::Operation *op);

/// Most chunks of keys (codegen/KernelArgs.h) that the keys of one row can lie in.
int64_t mostChunks(ir::AttentionOp op);

} // namespace inf
