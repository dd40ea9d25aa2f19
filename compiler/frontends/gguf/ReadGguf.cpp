#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include "compiler/frontends/Limits.h"
#include "compiler/frontends/Suggest.h"
#include "compiler/frontends/TensorRules.h"
#include "compiler/frontends/WeightShapes.h"
#include "compiler/frontends/gguf/Gguf.h"
#include "compiler/frontends/gguf/Import.h"
#include "compiler/frontends/gguf/Tokenizer.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

namespace fs = std::filesystem;

struct Importer {
  std::string_view architecture;
  void (*import)(GgufImport &);
  /// Control tokens that end a text, besides those that keys name (as llama.cpp finds them).
  std::array<std::string_view, 3> stops;
};

constexpr Importer importers[] = {
    {"gpt-oss", importGgufGptOss, {"<|return|>", "<|call|>", "<|endoftext|>"}},
    {"llama", importGgufLlama, {"<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"}},
    {"qwen2", importGgufQwen2, {"<|im_end|>", "<|endoftext|>", "<|fim_pad|>"}},
    {"qwen3", importGgufQwen3, {"<|im_end|>", "<|endoftext|>", "<|fim_pad|>"}},
    {"qwen3moe", importGgufQwen3Moe, {"<|im_end|>", "<|endoftext|>", "<|fim_pad|>"}},
};

const Importer &importerOf(GgufMetadata &metadata) {
  const std::string key = "general.architecture", name = metadata.text(key);
  std::string known;
  for (const Importer &importer : importers) {
    if (importer.architecture == name)
      return importer;
    known.append(known.empty() ? "" : ", ").append(importer.architecture);
  }
  metadata.refuse(key,
                  fmt::format("is {}, which is not known; known: {}", quoteShort(name), known));
}

/// What is no whole model, or whose numbers mean something else.
void refuseOtherFiles(GgufMetadata &metadata) {
  if (const auto type = metadata.optionalText("general.type"); type && *type != "model")
    metadata.refuse("general.type", fmt::format("is {}, expected \"model\"", quoteShort(*type)));
  if (metadata.optionalCount("split.count", UINT32_MAX).value_or(1) > 1)
    metadata.refuse("split.count", "is above 1: the file is one part of a model; join the parts");
  const uint64_t version =
      metadata.optionalCount("general.quantization_version", UINT32_MAX).value_or(2);
  if (version != 2)
    metadata.refuse("general.quantization_version",
                    fmt::format("is {}, expected 2; convert the model again", version));
}

void addStop(GgufMetadata &metadata, const std::string &key, ModelDesc &desc) {
  if (const auto id = metadata.optionalCount(key, maxDimension))
    desc.eosTokens.push_back(int64_t(*id));
}

void importTokens(GgufMetadata &metadata, const Importer &importer, ModelDesc &desc) {
  for (const char *name : {"eos", "eot", "eom"})
    addStop(metadata, fmt::format("tokenizer.ggml.{}_token_id", name), desc);
  for (int64_t id : controlTokens(metadata, importer.stops))
    desc.eosTokens.push_back(id);
  std::sort(desc.eosTokens.begin(), desc.eosTokens.end());
  desc.eosTokens.erase(std::unique(desc.eosTokens.begin(), desc.eosTokens.end()),
                       desc.eosTokens.end());
  if (const auto bos = metadata.optionalCount("tokenizer.ggml.bos_token_id", maxDimension))
    desc.bosToken = int64_t(*bos);
}

/// general.name when it is a name, else the file's.
std::string nameOf(GgufMetadata &metadata, const fs::path &path) {
  const std::string name = metadata.optionalText("general.name").value_or("");
  const bool plain = !name.empty() && name.size() <= maxNameBytes &&
                     std::none_of(name.begin(), name.end(), [](char c) {
                       return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
                     });
  return plain ? name : path.stem().string();
}

struct Imported {
  std::shared_ptr<const GgufFile> file;
  ModelDesc desc;
  PairedHeads paired;
  std::set<std::string> usedTensors;
};

Imported import(std::shared_ptr<const GgufFile> file, GgufMetadata &metadata) {
  Imported imported;
  imported.file = file;
  refuseOtherFiles(metadata);
  const Importer &importer = importerOf(metadata);
  const fs::path path = fs::absolute(file->path()).lexically_normal();
  imported.desc.name = nameOf(metadata, path);
  imported.desc.weightsDirectory = path.string();
  GgufImport in{*file, metadata, std::string(importer.architecture) + ".", imported.desc, {}, {}};
  importer.import(in);
  importTokens(metadata, importer, imported.desc);
  metadata.refuseUnknown(in.prefix);
  imported.usedTensors = std::move(in.usedTensors);
  validate(imported.desc);
  imported.paired = std::move(in.paired);
  return imported;
}

/// One sentence per type that is not kept.
void noteConversions(const GgufFile &file, std::vector<std::string> &notes) {
  std::map<std::string_view, std::vector<std::string>> converted;
  for (const auto &[name, tensor] : file.tensors())
    if (!tensor.type->kept)
      converted[tensor.type->name].push_back(name);
  for (const auto &[type, names] : converted)
    notes.push_back(fmt::format("{} is not kept but converted (matrices to int8 unless another "
                                "format is asked for): {}",
                                type, firstNames(names, 3)));
}

void noteBegin(GgufMetadata &metadata, const ModelDesc &desc, std::vector<std::string> &notes) {
  if (metadata.optionalFlag("tokenizer.ggml.add_bos_token").value_or(false) && desc.bosToken >= 0)
    notes.push_back(fmt::format("the model wants token {} before a text; it is not added by itself",
                                desc.bosToken));
}

} // namespace

GgufModel readGguf(const std::string &path, const GgufOptions &options) {
  const auto file = std::make_shared<const GgufFile>(path);
  GgufMetadata metadata(*file);
  Imported imported = import(file, metadata);
  checkGgufTensors(weightDecls(imported.desc), *file, imported.usedTensors);
  GgufModel model;
  if (options.tokenizer)
    model.tokenizerJson = ggufTokenizerJson(metadata, model.notes);
  else
    model.notes.push_back("the tokenizer is left out: the model will read token ids only");
  model.chatTemplate = metadata.optionalText("tokenizer.chat_template").value_or("");
  noteConversions(*file, model.notes);
  noteBegin(metadata, imported.desc, model.notes);
  model.weights = makeGgufSource(file, std::move(imported.paired));
  model.desc = std::move(imported.desc);
  return model;
}

std::unique_ptr<WeightSource> openGgufWeights(const std::string &path,
                                              const std::vector<WeightDecl> &decls) {
  const auto file = std::make_shared<const GgufFile>(path);
  GgufMetadata metadata(*file);
  Imported imported = import(file, metadata);
  checkGgufTensors(decls, *file, imported.usedTensors);
  return makeGgufSource(file, std::move(imported.paired));
}

} // namespace inf
