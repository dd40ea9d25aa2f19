#include "tests/support/ReferenceModel.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include "compiler/driver/Context.h"
#include "compiler/driver/ModelFacts.h"
#include "compiler/driver/PackedValues.h"
#include "compiler/driver/Stages.h"
#include "compiler/import/BuildModel.h"
#include "runtime/format/Safetensors.h"

namespace inf::test {
struct ReferenceModel::State {
  CompileContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<WeightSource> source;
  ReferenceOptions options;

  void importDesc(const ModelDesc &desc, const std::vector<WeightDecl> &decls) {
    ImportOptions importOptions;
    importOptions.kvElement = options.kvElement;
    module = buildModel(context.mlir(), desc, decls, importOptions);
    if (mlir::failed(mlir::verify(*module)))
      context.failWithDiagnostics(ErrorCode::Internal, "importing " + desc.name + " failed");
  }

  void parse(const std::string &text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context.mlir());
    if (!module)
      context.failWithDiagnostics(ErrorCode::BadInput, "parsing the module failed");
  }
};

ReferenceModel::ReferenceModel(std::unique_ptr<State> modelState) : state(std::move(modelState)) {}
ReferenceModel::ReferenceModel(ReferenceModel &&) = default;
ReferenceModel &ReferenceModel::operator=(ReferenceModel &&) = default;
ReferenceModel::~ReferenceModel() = default;

ReferenceModel ReferenceModel::fromCheckpoint(const std::string &path,
                                              const ReferenceOptions &options) {
  auto state = std::make_unique<State>();
  state->options = options;
  ModelDesc desc = readModel(path);
  state->importDesc(desc, weightDecls(desc));
  state->source = Checkpoint::open(desc.weightsDirectory);
  return ReferenceModel(std::move(state));
}

ReferenceModel ReferenceModel::random(const ModelDesc &desc, uint64_t seed,
                                      const ReferenceOptions &options) {
  auto state = std::make_unique<State>();
  state->options = options;
  std::vector<WeightDecl> decls = weightDecls(desc);
  state->importDesc(desc, decls);
  state->source = makeRandomSource(seed, decls);
  return ReferenceModel(std::move(state));
}

ReferenceModel ReferenceModel::parse(const std::string &text, uint64_t seed) {
  ReferenceModel model = parse(text, nullptr);
  model.state->source = makeRandomSource(seed, weightDeclsOf(model.model()));
  return model;
}

ReferenceModel ReferenceModel::parse(const std::string &text,
                                     std::unique_ptr<WeightSource> source) {
  auto state = std::make_unique<State>();
  state->parse(text);
  state->source = std::move(source);
  return ReferenceModel(std::move(state));
}

void ReferenceModel::runTo(const std::string &stage) {
  CompileOptions options;
  options.without = state->options.without;
  options.quantPolicy = state->options.quant;
  options.activations = state->options.activations;
  runStages(state->context, *state->module, options, targetByName(state->options.target), stage);
}

ir::ReferenceResult ReferenceModel::run(const std::vector<int32_t> &tokens,
                                        const std::vector<int64_t> &outputs) {
  PackedValues reader(*state->source, model());
  return ir::runReference(model(), reader, tokens, outputs);
}

mlir::ModuleOp ReferenceModel::module() { return *state->module; }
ir::ModelOp ReferenceModel::model() { return theModel(*state->module); }
std::string ReferenceModel::text() { return printModule(*state->module); }

} // namespace inf::test
