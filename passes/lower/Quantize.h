// From f32 to rows of int8 or bf16 (runtime/abi/ActivationRows.h), and from blocks of weights to
// f32.
#pragma once

#include "passes/lower/Emit.h"

namespace inf {

/// Features [begin, end) of a row of `rounded`, a value in q8 (begin and end multiples of 32) or
/// bf16 (of 8, but for the row's end): `from` points at feature `begin` in f32, `row` at the start
/// of the rounded row.
void emitRound(Emit &e, Value rounded, Value from, Value row, Value begin, Value end);
/// The whole row.
void emitRoundRow(Emit &e, Value rounded, Value from, Value row);

/// One block of 32 of a weight in the `rows` layout (runtime/format/Blocks.h) to f32.
void emitDequantizeBlock(Emit &e, ir::Format format, Value block, Value to);

} // namespace inf
