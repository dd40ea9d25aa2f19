// How each op may be cut over threads.
#pragma once

#include "ir/dialect/InfDialect.h"

namespace inf {

/// The cut that inf-partition gives `op`; null when it is no stage. By hand only the row tile, and
/// the grain of outputs in multiples of this one, may differ (inf-verify-plan).
ir::PartitionAttr naturalPartition(mlir::Operation *op);

} // namespace inf
