// Which ops run a generated kernel, with which weights, and what it must be able to do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/KernelSpec.h"
#include "codegen/Target.h"
#include "ir/dialect/InfDialect.h"

namespace inf {

static_assert(int(ir::Format::F32) == int(WeightFormat::F32) &&
              int(ir::Format::F16) == int(WeightFormat::F16) &&
              int(ir::Format::BF16) == int(WeightFormat::BF16) &&
              int(ir::Format::MXFP4) == int(WeightFormat::MXFP4) &&
              int(ir::Format::INT8) == int(WeightFormat::INT8) &&
              int(ir::Format::INT4) == int(WeightFormat::INT4) &&
              int(ir::Format::INT4A) == int(WeightFormat::INT4A) &&
              ir::q8Block == int64_t(blockColumns));
static_assert(int(ir::Layout::Vector) == int(PackedLayout::Vector) &&
              int(ir::Layout::VectorPairs) == int(PackedLayout::VectorPairs) &&
              int(ir::Layout::Rows) == int(PackedLayout::Rows) &&
              int(ir::Layout::Panel16) == int(PackedLayout::Panel16) &&
              int(ir::Layout::Panel16Pairs) == int(PackedLayout::Panel16Pairs) &&
              int(ir::Layout::Panel16By2) == int(PackedLayout::Panel16By2) &&
              int(ir::Layout::Panel16PairsBy2) == int(PackedLayout::Panel16PairsBy2));

/// A weight operand and the layout its reader needs.
struct WeightUse {
  mlir::Value value;
  ir::Layout layout;
};

/// Every weight `op` reads, with layouts.
std::vector<WeightUse> weightUses(mlir::Operation *op);

/// The matrix that a kernel of `op` streams; null when `op` runs no linear kernel.
mlir::Value kernelWeight(mlir::Operation *op);

/// What `op` asks of its kernel, all but isa, format, rows and order; nullopt when it runs none.
std::optional<KernelSpec> kernelDemand(ir::ModelOp model, mlir::Operation *op);

/// The kernel named on `op`; nullopt when there is none or the name is not a kernel's.
std::optional<KernelSpec> kernelOn(mlir::Operation *op);

/// The target of that name; an unknown one is reported at `op`.
mlir::FailureOr<Target> findTarget(mlir::Operation *op, llvm::StringRef name);

/// A readable place for messages: "block sliding, inf.linear".
std::string describe(mlir::Operation *op);

} // namespace inf
