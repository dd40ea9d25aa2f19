#include "runtime/jit/Jit.h"

#include <filesystem>

#include "runtime/base/Error.h"
#include "runtime/cpu/Memory.h"
#include "runtime/jit/PerfMap.h"
#include "runtime/jit/SourceIdentity.h"

namespace inf {
namespace {

std::string textOf(const char *bytes, uint64_t count) { return {bytes, count}; }

PayloadInfo payloadOf(const inf_compiled &compiled) {
  PayloadInfo payload = {};
  payload.manifest = manifestFromJson({compiled.manifest, compiled.manifest_bytes});
  payload.tokenizerJson = textOf(compiled.tokenizer, compiled.tokenizer_bytes);
  payload.chatTemplate = textOf(compiled.chat_template, compiled.chat_template_bytes);
  payload.header.abiVersion = payload.manifest.abiVersion;
  payload.header.flags = 1; // weights present
  payload.header.featureBits = payload.manifest.featureBits;
  payload.header.buildId[0] = compiled.build_id[0];
  payload.header.buildId[1] = compiled.build_id[1];
  payload.header.weightsBytes = payload.manifest.weightsBytes;
  return payload;
}

void requireMemory(uint64_t weightsBytes) {
  const std::optional<uint64_t> available = availableMemoryBytes(SystemRoot{});
  if (available && *available < weightsBytes)
    fail(ErrorCode::Machine,
         "the weights take {:.1f} GB of memory, {:.1f} GB are available. Use a cache, which maps "
         "them from a file (--cache-dir), or a narrower --quant.",
         double(weightsBytes) / 1e9, double(*available) / 1e9);
}

/// Keeps the compiler's part alive as long as the code may run.
std::shared_ptr<const inf_model> codeOf(std::shared_ptr<const inf_compiled> compiled,
                                        const std::string &name) {
  const inf_model *table = compiled->query(INF_ABI_VERSION);
  if (!table)
    fail(ErrorCode::BadInput,
         "the code compiled from '{}' does not serve ABI version {}. Install infrun and compiler "
         "of the same release.",
         name, INF_ABI_VERSION);
  return {std::move(compiled), table};
}

std::shared_ptr<const Model> inMemory(const JitOptions &options, const CompilerLibrary &compiler) {
  const std::string &name = options.source.input;
  if (options.load.mode == LoadMode::Map)
    fail(ErrorCode::Usage, "--load=map needs a file of packed weights: leave it or --no-cache out, "
                           "or make the cache writable.");
  std::shared_ptr<const inf_compiled> compiled =
      compiler.compileInMemory(options.source, options.load.threads, options.watch);
  MemoryModel model;
  model.name = name;
  model.payload = payloadOf(*compiled);
  checkMachine(FeatureSet{model.payload.manifest.featureBits},
               options.load.machine ? *options.load.machine : hostMachine(),
               model.payload.manifest.target, name);
  model.code = codeOf(compiled, name);
  requireMemory(model.payload.manifest.weightsBytes);
  model.weights =
      WeightMemory::fill(model.payload.manifest.weightsBytes, name, [&](std::span<uint8_t> region) {
        compiler.packWeights(*compiled, options.source, region.data(), region.size(),
                             options.load.threads, options.watch);
      });
  if (!writePerfMap(perfMapPath(), {compiled->symbols, compiled->symbol_count}) && options.warn)
    options.warn(fmt::format("'{}' cannot be written: perf will not know the model's functions.",
                             perfMapPath()));
  return Model::fromMemory(std::move(model));
}

std::string aboutText(const JitSource &source) {
  std::string text = std::filesystem::absolute(source.input).lexically_normal().string();
  const std::pair<const char *, const std::string *> options[] = {
      {"target", &source.target},
      {"quant", &source.quant},
      {"activations", &source.activations},
      {"kv", &source.kv},
      {"weights", &source.weights}};
  for (const auto &[name, value] : options)
    if (!value->empty())
      text += fmt::format(" --{}={}", name, *value);
  return text;
}

/// The model keeps its entry from being thrown out.
std::shared_ptr<const Model> loadHeld(ModelCache::Held held, const LoadOptions &options) {
  std::shared_ptr<const Model> model = Model::load(held.path, options);
  auto use = std::make_shared<FileLock>(std::move(held.use));
  return {model.get(), [model, use](const Model *) {}};
}

ModelCache::Held cached(const JitOptions &options, const std::string &compilerPath) {
  const ModelCache cache(options.cache);
  const FeatureSet machine = hostMachine().features;
  const std::string key = sourceKey(options.source, compilerPath, machine);
  return cache.findOrMake(key, aboutText(options.source), [&](const std::string &path) {
    CompilerLibrary(compilerPath)
        .compileToFile(options.source, path, options.load.threads, options.watch);
    if (sourceKey(options.source, compilerPath, machine) != key) {
      std::filesystem::remove(path);
      fail(ErrorCode::BadInput, "'{}' changed while it was compiled. Start again.",
           options.source.input);
    }
  });
}

} // namespace

bool isModelSource(const std::string &path) {
  std::error_code error;
  return path.ends_with(".json") || path.ends_with(".gguf") ||
         std::filesystem::is_directory(path, error);
}

std::shared_ptr<const Model> compileAndLoad(const JitOptions &options) {
  std::error_code error;
  if (!std::filesystem::exists(options.source.input, error))
    fail(ErrorCode::Io, "cannot open model '{}': there is nothing of that name. Check the path.",
         options.source.input);
  const std::string compilerPath = findCompiler(options.compiler);
  std::optional<ModelCache::Held> held;
  try {
    if (options.useCache)
      held = cached(options, compilerPath);
  } catch (const Error &failure) {
    if (failure.code != ErrorCode::Io) // whatever else is wrong would be wrong in memory too
      throw;
    if (options.warn)
      options.warn(fmt::format("no cache: {} Compiling in memory.", failure.what()));
  }
  if (held)
    return loadHeld(std::move(*held), options.load);
  return inMemory(options, CompilerLibrary(compilerPath));
}

} // namespace inf
