// From f32 to rows of int8 (runtime/abi/ActivationRows.h), and from blocks of weights to f32.
#pragma once

#include "passes/lower/Emit.h"

namespace inf {

/// Features [begin, end) of a row of `features`, both multiples of 32: `from` points at feature
/// `begin` in f32, `row` at the start of the q8 row.
void emitQuantize(Emit &e, Value from, Value row, Value begin, Value end, int64_t features);
/// The whole row.
void emitQuantizeRow(Emit &e, Value from, Value row, int64_t features);

/// One block of 32 of a weight in the `rows` layout (runtime/format/Blocks.h) to f32.
void emitDequantizeBlock(Emit &e, ir::Format format, Value block, Value to);

} // namespace inf
