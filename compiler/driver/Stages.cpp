#include "compiler/driver/Stages.h"

#include <algorithm>
#include <filesystem>

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

#include "codegen/Target.h"
#include "passes/Pipeline.h"
#include "passes/QuantPolicy.h"
#include "runtime/format/FileOutput.h"

namespace inf {
namespace {

constexpr char loweringStage[] = "lower-to-llvm";

/// Index of a stage in stageNames(); Usage when there is none of that name.
size_t stageIndex(const std::string &name) {
  std::vector<std::string> names = stageNames();
  auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end())
    fail(ErrorCode::Usage, "unknown stage \"{}\"; expected one of: {}", name,
         fmt::join(names, ", "));
  return size_t(it - names.begin());
}

void checkLeftOut(const CompileOptions &options) {
  for (const std::string &name : options.without) {
    size_t index = stageIndex(name);
    if (index == 0 || !pipelineStages()[index - 1].optional)
      fail(ErrorCode::Usage, "stage \"{}\" can't be left out: later stages need it", name);
  }
}

/// Tiles of bf16 hold a code times its scale where that is a power of two
/// (codegen/linear/AmxExactProduct.cpp).
bool wantsPowersOfTwo(const FeatureSet &features) {
  return features.has(Feature::AMXTILE) && features.has(Feature::AMXBF16);
}

std::string activationsFor(const CompileOptions &options, const FeatureSet &features) {
  if (options.activations != "auto")
    return options.activations;
  QuantPolicy policy = parseQuantPolicy(options.quantPolicy);
  if (!policy.base && policy.rules.empty())
    return "f32";
  return wantsPowersOfTwo(features) ? "mxint8" : "q8";
}

void saveIr(const CompileOptions &options, size_t number, const std::string &stage,
            const std::string &text) {
  std::filesystem::path directory(options.saveIrDirectory);
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    fail(ErrorCode::Io, "creating {} failed: {}", directory.string(), error.message());
  AtomicFile file((directory / fmt::format("{:02}-{}.mlir", number, stage)).string(), text.size());
  file.append({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
  file.commit();
}

void runPass(CompileContext &context, mlir::ModuleOp module, std::unique_ptr<mlir::Pass> pass,
             const std::string &name) {
  mlir::PassManager manager(&context.mlir());
  if (pass->getOpName() == llvm::StringRef(ir::ModelOp::getOperationName()))
    manager.addNestedPass<ir::ModelOp>(std::move(pass));
  else
    manager.addPass(std::move(pass));
  if (mlir::failed(manager.run(module)))
    context.failWithDiagnostics(ErrorCode::BadInput, "stage " + name + " failed");
}

} // namespace

std::vector<std::string> stageNames() {
  std::vector<std::string> names{importStage};
  for (const PipelineStage &stage : pipelineStages())
    names.push_back(stage.name);
  return names;
}

bool isPast(ir::ModelOp model, const std::string &stage) {
  return stageIndex(model.getStage().value_or(importStage).str()) >= stageIndex(stage);
}

void runStages(CompileContext &context, mlir::ModuleOp module, const CompileOptions &options,
               const Target &target, const std::string &last) {
  checkLeftOut(options);
  PipelineOptions pipeline;
  pipeline.quantPolicy = options.quantPolicy;
  pipeline.activations = activationsFor(options, target.features);
  pipeline.target = target.name;
  pipeline.maxRows = options.maxRows;
  if (options.maxOutputRows)
    pipeline.maxOutputRows = options.maxOutputRows;
  ir::ModelOp model = theModel(module);
  size_t reached = stageIndex(model.getStage().value_or(importStage).str());
  size_t end = last.empty() ? stageIndex(loweringStage) - 1 : stageIndex(last);
  model.setStage(stageNames()[reached]);
  std::string text = options.saveIrDirectory.empty() ? "" : printModule(module);
  if (!options.saveIrDirectory.empty())
    saveIr(options, reached, stageNames()[reached], text);
  for (size_t i = reached + 1; i <= end; ++i) {
    const PipelineStage &stage = pipelineStages()[i - 1];
    if (options.without.count(stage.name))
      continue;
    std::string before = model.getStage()->str();
    runPass(context, module, stage.create(pipeline), stage.name);
    if (stage.name == loweringStage)
      return; // no inf.model is left
    if (!options.saveIrDirectory.empty()) {
      std::string now = printModule(module);
      bool changed = now != text;
      model.setStage(stage.name);
      text = printModule(module);
      if (changed)
        saveIr(options, i, stage.name, text);
    }
    model.setStage(stage.name);
  }
}

void lowerModule(CompileContext &context, mlir::ModuleOp module) {
  // Again, whatever stage the module claims to be at: lowering trusts every decision, and a hand
  // may have changed one after it was checked.
  for (const PipelineStage &stage : pipelineStages())
    if (stage.name.starts_with("verify-"))
      runPass(context, module, stage.create({}), stage.name);
  runPass(context, module, pipelineStages().back().create({}), loweringStage);
}

} // namespace inf
