// Every pass of the pipeline; Passes.td says what each does.
#pragma once

#include <memory>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include "ir/dialect/InfDialect.h"

namespace inf {

#define GEN_PASS_DECL
#include "InfPasses.h.inc"
#define GEN_PASS_REGISTRATION
#include "InfPasses.h.inc"

} // namespace inf
