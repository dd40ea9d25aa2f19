#include "runtime/loader/Model.h"

#include <chrono>
#include <limits>
#include <utility>

#include "runtime/base/Error.h"
#include "runtime/loader/CheckCode.h"
#include "runtime/loader/Filesystem.h"

namespace inf {
namespace {

using Clock = std::chrono::steady_clock;

/// Seconds since `since`, which becomes now: the parts of a load follow each other.
double lap(Clock::time_point &since) {
  const Clock::time_point before = std::exchange(since, Clock::now());
  return std::chrono::duration<double>(since - before).count();
}

void requireWeights(const PayloadInfo &payload, const std::string &path) {
  if (!payload.hasWeights())
    fail(ErrorCode::BadInput,
         "'{}' was compiled without weights. Add random ones with `infrun fill {} --random SEED -o "
         "OUT.so`, or compile it with a checkpoint.",
         path, path);
  if (payload.header.weightsBytes != payload.manifest.weightsBytes)
    fail(ErrorCode::BadInput,
         "'{}' holds {} bytes of weights, its manifest expects {}. Compile the model again.", path,
         payload.header.weightsBytes, payload.manifest.weightsBytes);
}

std::optional<Tokenizer> readTokenizer(const PayloadInfo &payload, const std::string &path) {
  if (payload.tokenizerJson.empty())
    return std::nullopt;
  Tokenizer tokenizer = Tokenizer::fromJson(payload.tokenizerJson);
  // The other way round is usual: embeddings are often padded beyond the tokenizer.
  if (static_cast<uint64_t>(tokenizer.vocabularySize()) > payload.manifest.vocabulary)
    fail(ErrorCode::BadInput,
         "the tokenizer of '{}' has ids up to {}, but the model's vocabulary is {}. Compile the "
         "model with the tokenizer it was trained with.",
         path, tokenizer.vocabularySize() - 1, payload.manifest.vocabulary);
  return tokenizer;
}

NodePlacement placementFor(const Manifest &manifest, const LoadChoice &choice,
                           const LoadOptions &options) {
  constexpr uint64_t hugePage = uint64_t{2} << 20; // what copies are made of
  if (choice.mode == LoadMode::Map)
    return {};
  std::vector<int> nodes;
  for (const CopyCpu &cpu : options.cpus)
    nodes.push_back(cpu.node);
  return placeWeights(manifest, nodes, hugePage);
}

WeightMemory loadWeights(const std::string &path, const PayloadInfo &payload,
                         const LoadChoice &choice, const NodePlacement &placement,
                         const LoadOptions &options) {
  const WeightPlace place = {path, payload.fileOffset + payload.header.weightsOffset,
                             payload.header.weightsBytes, payload.fileBytes};
  if (choice.mode == LoadMode::Map)
    return WeightMemory::map(place);
  if (!placement.runs.empty())
    return WeightMemory::copyToNodes(place, placement.runs, options.cpus, choice.dropCache,
                                     options.progress);
  return WeightMemory::copy(place, options.threads, choice.dropCache, options.progress);
}

std::shared_ptr<const inf_model> loadCode(const std::string &path) {
  auto library = std::make_shared<const CodeLibrary>(path);
  return {library, &library->model()};
}

} // namespace

std::shared_ptr<const Model> Model::load(const std::string &path, const LoadOptions &options) {
  Clock::time_point since = Clock::now();
  LoadTimes times;
  PayloadInfo info = readPayloadInfo(path, INF_ABI_VERSION);
  requireWeights(info, path);
  checkMachine(FeatureSet{info.header.featureBits},
               options.machine ? *options.machine : hostMachine(), info.manifest.target, path);
  times.verify = lap(since);
  std::optional<Tokenizer> tokenizer = readTokenizer(info, path);
  times.tokenizer = lap(since);
  std::shared_ptr<Model> model(new Model(path, std::move(info), std::move(tokenizer), options));
  times.map = lap(since);
  checkCode(model->code(), model->payload, path);
  times.verify += lap(since);
  model->times = times;
  return model;
}

Model::Model(const std::string &path, PayloadInfo info, std::optional<Tokenizer> tokenizer,
             const LoadOptions &options)
    : modelPath(path), payload(std::move(info)), textTokenizer(std::move(tokenizer)),
      table(loadCode(path)),
      choice(
          chooseLoad(options.mode, payload.header.weightsBytes, options.runsForLong, {},
                     slowToMap(options.filesystem ? *options.filesystem : filesystemType(path)))),
      placement(placementFor(payload.manifest, choice, options)),
      weightMemory(loadWeights(path, payload, choice, placement, options)) {}

std::shared_ptr<const Model> Model::fromMemory(MemoryModel memory) {
  Clock::time_point since = Clock::now();
  LoadTimes times;
  std::optional<Tokenizer> tokenizer = readTokenizer(memory.payload, memory.name);
  times.tokenizer = lap(since);
  std::shared_ptr<Model> model(new Model(std::move(memory), std::move(tokenizer)));
  checkCode(model->code(), model->payload, model->path());
  times.verify = lap(since);
  model->times = times;
  return model;
}

Model::Model(MemoryModel model, std::optional<Tokenizer> tokenizer)
    : modelPath(std::move(model.name)), payload(std::move(model.payload)),
      textTokenizer(std::move(tokenizer)),
      table(std::move(model.code)), choice{LoadMode::Copy,
                                           false,
                                           "packed into memory: there is no file of them",
                                           {}},
      weightMemory(std::move(model.weights)) {}

const Tokenizer &Model::requireTokenizer() const {
  if (!textTokenizer)
    fail(ErrorCode::Usage, "'{}' was compiled without a tokenizer. Give token ids (--ids) instead.",
         modelPath);
  return *textTokenizer;
}

} // namespace inf
