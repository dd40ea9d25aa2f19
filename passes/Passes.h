// Every pass of the pipeline; Passes.td says what each does.
#pragma once

#include <memory>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include "ir/dialect/InfDialect.h"
#include "passes/StepRows.h"

namespace inf {

#define GEN_PASS_DECL
#include "InfPasses.h.inc"
#define GEN_PASS_REGISTRATION
#include "InfPasses.h.inc"

} // namespace inf
