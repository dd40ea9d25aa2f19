// One function per kind of stage: the code that a thread runs for one op of the planned IR.
#pragma once

#include "passes/lower/StepFrame.h"

namespace inf {

// RowStages.cpp
void lower(StepFrame &frame, ir::EmbeddingOp op);
void lower(StepFrame &frame, ir::RmsNormOp op);
void lower(StepFrame &frame, ir::SliceOp op);
void lower(StepFrame &frame, ir::RopeOp op);
void lower(StepFrame &frame, ir::KvAppendOp op);
void lower(StepFrame &frame, ir::RouterTopKOp op);
void lower(StepFrame &frame, ir::SwigluOp op);
void lower(StepFrame &frame, ir::QuantizeActivationOp op);
void lower(StepFrame &frame, ir::AddOp op);
void lower(StepFrame &frame, ir::OutputRowsOp op);

// LinearStages.cpp
void lower(StepFrame &frame, ir::LinearOp op);
void lower(StepFrame &frame, ir::QkvOp op);
void lower(StepFrame &frame, ir::RouterOp op);
void lower(StepFrame &frame, ir::LmHeadOp op);

// ExpertStages.cpp
void lower(StepFrame &frame, ir::ExpertUpOp op);
void lower(StepFrame &frame, ir::ExpertDownOp op);

// AttentionStage.cpp
void lower(StepFrame &frame, ir::AttentionOp op);
/// u32 [rows][kv heads]: chunks done of each, 0 between stages (passes/Buffers.h).
Value chunkCounters(StepFrame &frame);
/// At the begin of a step, by one thread; the first stage's barrier comes before any attention.
void clearChunkCounters(StepFrame &frame);

/// Calls the kernel named on `op` with the given argument struct.
void emitKernelCall(StepFrame &frame, mlir::Operation *op, Value arguments);

/// The code of any stage op; fails with an error for an op that has no code.
mlir::LogicalResult lowerStage(StepFrame &frame, mlir::Operation *op);

} // namespace inf
