#include "compiler/driver/Input.h"

#include <filesystem>

#include "codegen/Target.h"
#include "compiler/driver/ModelFacts.h"
#include "compiler/driver/Stages.h"
#include "compiler/frontends/ModelDesc.h"
#include "compiler/import/BuildModel.h"
#include "mlir/IR/Verifier.h"
#include "runtime/format/FileInput.h"
#include "runtime/tokenizer/Tokenizer.h"

namespace inf {
namespace {

/// Far above any tokenizer known (27 MB), far below what would hurt.
constexpr uint64_t largestTokenizer = uint64_t{256} << 20;

mlir::OwningOpRef<mlir::ModuleOp> importModel(CompileContext &context,
                                              const CompileOptions &options) {
  ModelDesc desc = readModel(options.input);
  std::vector<WeightDecl> decls = weightDecls(desc);
  ImportOptions import;
  import.kvElement = options.kvElement;
  mlir::OwningOpRef<mlir::ModuleOp> module = buildModel(context.mlir(), desc, decls, import);
  if (mlir::failed(mlir::verify(*module)))
    context.failWithDiagnostics(ErrorCode::Internal, "importing " + options.input + " failed");
  return module;
}

/// A file the description names. Only a model without a checkpoint's weights may do without it: a
/// description alone, of a model that is not on this machine, still compiles.
std::string readNamedFile(const CompileOptions &options, std::optional<llvm::StringRef> path) {
  if (!path)
    return {};
  bool needed = options.weights.kind == WeightsChoice::Kind::Checkpoint;
  if (!needed && !std::filesystem::exists(path->str())) {
    if (options.report)
      options.report(fmt::format("{} is not there and is left out", path->str()));
    return {};
  }
  return readWholeFile(path->str(), largestTokenizer);
}

/// A tokenizer may know fewer ids than the model has rows (padding), never more.
void checkVocabulary(const CompileOptions &options, ir::ModelOp model, const std::string &json) {
  if (json.empty()) {
    if (options.report)
      options.report("the model has no tokenizer: it will run token ids only");
    return;
  }
  Tokenizer tokenizer = Tokenizer::fromJson(json);
  int64_t ids = tokenizer.vocabularySize(), rows = int64_t(model.getVocabulary());
  if (ids > rows)
    fail(ErrorCode::BadInput,
         "{}: the tokenizer has ids up to {}, the model's vocabulary has {} rows; use the "
         "tokenizer.json this model was trained with",
         model.getTokenizer()->str(), ids - 1, rows);
  if (ids < rows && options.report)
    options.report(
        fmt::format("vocabulary: {} of {} rows have no token (padding)", rows - ids, rows));
}

/// IR carries its decisions; an option that would decide one again must not be ignored in silence.
void checkResumed(const CompileOptions &options, ir::ModelOp model) {
  auto refuse = [&](const char *option, const std::string &why) {
    if (options.asked.count(option))
      fail(ErrorCode::Usage, "{} comes too late for {}: {}", option, options.input, why);
  };
  refuse("--kv", "the element of each inf.kv_group says it; edit that");
  if (isPast(model, "quantize"))
    refuse("--quant", "the format of each inf.weight says it; edit that");
  if (isPast(model, "quantize-activations"))
    refuse("--activations", "the type of the rows each product reads says it; edit that, or go on "
                            "from a stage before quantize-activations");
  if (model.getTarget() && model.getTarget()->str() != targetByName(options.target).name)
    refuse("--target", fmt::format("its kernels were selected for {}; go on from a stage before "
                                   "select-kernels, or leave the option out",
                                   model.getTarget()->str()));
  if (model.getMaxRows() && int64_t(*model.getMaxRows()) != options.maxRows)
    refuse("--max-rows",
           fmt::format("its memory was planned for {} rows; go on from a stage before "
                       "plan-memory, or leave the option out",
                       *model.getMaxRows()));
  if (model.getMaxOutputRows() && int64_t(*model.getMaxOutputRows()) != options.maxOutputRows)
    refuse("--max-output-rows",
           fmt::format("its memory was planned for {} output rows; go on from a stage before "
                       "plan-memory, or leave the option out",
                       *model.getMaxOutputRows()));
}

std::string checkpointDirectory(const CompileOptions &options, ir::ModelOp model) {
  if (!options.weights.directory.empty())
    return options.weights.directory;
  if (auto from = model.getWeightsFrom())
    return from->str();
  fail(ErrorCode::BadInput,
       "{} names no checkpoint; give --weights=DIR, --weights=random:SEED or --weights=none",
       options.input);
}

} // namespace

LoadedModel loadModel(CompileContext &context, const CompileOptions &options) {
  LoadedModel loaded;
  loaded.module = options.input.ends_with(".mlir") ? parseModule(context, options.input)
                                                   : importModel(context, options);
  ir::ModelOp model = theModel(*loaded.module);
  if (options.input.ends_with(".mlir"))
    checkResumed(options, model);
  loaded.tokenizerJson = readNamedFile(options, model.getTokenizer());
  loaded.chatTemplate = readNamedFile(options, model.getChatTemplate());
  checkVocabulary(options, model, loaded.tokenizerJson);
  if (options.readsWeights && options.weights.kind == WeightsChoice::Kind::Checkpoint) {
    // Here rather than when packing begins: a wrong checkpoint is said at once.
    loaded.weightsDirectory = checkpointDirectory(options, model);
    checkCheckpoint(weightDeclsOf(model), *Checkpoint::open(loaded.weightsDirectory));
  }
  return loaded;
}

std::unique_ptr<WeightSource> openWeights(const CompileOptions &options, const LoadedModel &input,
                                          const std::vector<WeightDecl> &decls) {
  switch (options.weights.kind) {
  case WeightsChoice::Kind::None:
    return nullptr;
  case WeightsChoice::Kind::Random:
    return makeRandomSource(options.weights.seed, decls);
  case WeightsChoice::Kind::Checkpoint:
    break;
  }
  return Checkpoint::open(input.weightsDirectory);
}

} // namespace inf
