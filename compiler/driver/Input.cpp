#include "compiler/driver/Input.h"

#include <filesystem>

#include "codegen/Target.h"
#include "compiler/driver/ModelFacts.h"
#include "compiler/driver/Stages.h"
#include "compiler/frontends/ChatTemplate.h"
#include "compiler/frontends/ModelDesc.h"
#include "compiler/frontends/gguf/Gguf.h"
#include "compiler/import/BuildModel.h"
#include "mlir/IR/Verifier.h"
#include "runtime/format/FileInput.h"
#include "runtime/tokenizer/Tokenizer.h"

namespace inf {
namespace {

/// Far above any tokenizer known (27 MB), far below what would hurt.
constexpr uint64_t largestTokenizer = uint64_t{256} << 20;

bool isGguf(const std::string &path) { return path.ends_with(".gguf"); }

mlir::OwningOpRef<mlir::ModuleOp>
importModel(CompileContext &context, const CompileOptions &options, const ModelDesc &desc) {
  std::vector<WeightDecl> decls = weightDecls(desc);
  ImportOptions import;
  import.kvElement = options.kvElement;
  mlir::OwningOpRef<mlir::ModuleOp> module = buildModel(context.mlir(), desc, decls, import);
  if (mlir::failed(mlir::verify(*module)))
    context.failWithDiagnostics(ErrorCode::Internal, "importing " + options.input + " failed");
  return module;
}

/// A GGUF file, and what it says about itself in notes.
GgufModel openGguf(const CompileOptions &options, const std::string &path) {
  GgufModel gguf = readGguf(path, {.tokenizer = options.readsTokenizer});
  for (const std::string &note : gguf.notes)
    if (options.report)
      options.report(path + ": " + note);
  return gguf;
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
         model.getTokenizer() ? model.getTokenizer()->str() : options.input, ids - 1, rows);
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
    refuse("--activations",
           "the type of the rows each product reads says it, and dots of attention; "
           "edit those, or go on from a stage before quantize-activations");
  else if (isPast(model, "quantize"))
    refuse("--activations", "activations of inf.model says it; edit that");
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

std::string checkpointPath(const CompileOptions &options, ir::ModelOp model) {
  if (!options.weights.directory.empty())
    return options.weights.directory;
  if (auto from = model.getWeightsFrom())
    return from->str();
  fail(ErrorCode::BadInput,
       "{} names no checkpoint; give --weights=DIR, --weights=random:SEED or --weights=none",
       options.input);
}

} // namespace

namespace {

/// Tokenizer and chat template: from the files the model names, or, where it names none, from the
/// GGUF file that its weights come from.
void readTexts(const CompileOptions &options, ir::ModelOp model, LoadedModel &loaded) {
  if (!options.readsTokenizer)
    return;
  loaded.tokenizerJson = readNamedFile(options, model.getTokenizer());
  loaded.chatTemplate = readNamedFile(options, model.getChatTemplate());
  if (!loaded.chatTemplate.empty())
    loaded.chatTemplate = chatTemplateText(model.getChatTemplate()->str(), loaded.chatTemplate);
  std::string from = options.weights.directory;
  if (from.empty())
    from = model.getWeightsFrom().value_or("").str();
  if (!model.getTokenizer() && isGguf(from) && std::filesystem::exists(from)) {
    GgufModel gguf = readGguf(from);
    loaded.tokenizerJson = gguf.tokenizerJson;
    loaded.chatTemplate = gguf.chatTemplate;
  }
}

} // namespace

LoadedModel loadModel(CompileContext &context, const CompileOptions &options) {
  LoadedModel loaded;
  bool resumed = options.input.ends_with(".mlir");
  if (resumed) {
    loaded.module = parseModule(context, options.input);
  } else if (isGguf(options.input)) {
    GgufModel gguf = openGguf(options, options.input);
    loaded.module = importModel(context, options, gguf.desc);
    loaded.tokenizerJson = gguf.tokenizerJson;
    if (options.readsTokenizer) // a template is of no use to token ids
      loaded.chatTemplate = gguf.chatTemplate;
  } else {
    loaded.module = importModel(context, options, readModel(options.input));
  }
  ir::ModelOp model = theModel(*loaded.module);
  if (resumed)
    checkResumed(options, model);
  if (!isGguf(options.input))
    readTexts(options, model, loaded);
  checkVocabulary(options, model, loaded.tokenizerJson);
  if (options.readsWeights && options.weights.kind == WeightsChoice::Kind::Checkpoint) {
    // Here rather than when packing begins: a wrong checkpoint is said at once.
    loaded.weightsFrom = checkpointPath(options, model);
    if (!isGguf(loaded.weightsFrom))
      checkCheckpoint(weightDeclsOf(model), *Checkpoint::open(loaded.weightsFrom));
    else if (loaded.weightsFrom != options.input) // else readGguf has checked it
      openGgufWeights(loaded.weightsFrom, weightDeclsOf(model));
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
  if (isGguf(input.weightsFrom))
    return openGgufWeights(input.weightsFrom, decls);
  return Checkpoint::open(input.weightsFrom);
}

} // namespace inf
