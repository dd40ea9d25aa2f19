// Runs the pipeline from where a module stands to where the user wants it.
#pragma once

#include "codegen/Target.h"
#include "compiler/driver/Compile.h"
#include "compiler/driver/Context.h"

namespace inf {

/// Runs the stages after the one the module says it has reached, up to and including `last`
/// (empty: all before lowering). Saves IR as `options` say. Fails with Usage for names of stages
/// that do not exist or can't be left out, BadInput with the pass's message.
void runStages(CompileContext &context, mlir::ModuleOp module, const CompileOptions &options,
               const Target &target, const std::string &last);

/// Whether the module has been through `stage`. Fails with Usage for names of stages unknown.
bool isPast(ir::ModelOp model, const std::string &stage);

/// Runs the lowering alone.
void lowerModule(CompileContext &context, mlir::ModuleOp module);

/// Names of all stages, "import" first.
std::vector<std::string> stageNames();

} // namespace inf
