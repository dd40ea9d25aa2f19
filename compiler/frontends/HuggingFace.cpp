#include "compiler/frontends/HuggingFace.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string_view>
#include <vector>

#include "compiler/frontends/ChatTemplate.h"
#include "compiler/frontends/Limits.h"
#include "compiler/frontends/Suggest.h"
#include "compiler/frontends/WeightShapes.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

namespace fs = std::filesystem;

struct Importer {
  std::string_view modelType, architecture;
  void (*import)(HuggingFaceModel &, ModelDesc &);
};

constexpr Importer importers[] = {
    {"gpt_oss", "GptOssForCausalLM", importGptOss},
    {"llama", "LlamaForCausalLM", importLlama},
    {"mistral", "MistralForCausalLM", importMistral},
    {"mixtral", "MixtralForCausalLM", importMixtral},
    {"qwen2", "Qwen2ForCausalLM", importQwen2},
    {"qwen3", "Qwen3ForCausalLM", importQwen3},
    {"qwen3_moe", "Qwen3MoeForCausalLM", importQwen3Moe},
};

std::string knownTypes() {
  std::vector<std::string> names;
  for (const Importer &importer : importers)
    names.push_back(fmt::format("{} ({})", importer.modelType, importer.architecture));
  return firstNames(names, names.size());
}

/// By `model_type`; `architectures`, when given, must agree (a classifier has other weights).
const Importer &findImporter(JsonObject &config) {
  std::string type = config.text("model_type");
  auto found = std::find_if(std::begin(importers), std::end(importers),
                            [&](const Importer &importer) { return importer.modelType == type; });
  if (found == std::end(importers))
    fail(ErrorCode::BadInput, "{}: unknown model type {}; known: {}",
         config.at("model_type").text(), quoteShort(type), knownTypes());
  if (const Json *list = config.find("architectures")) {
    JsonPlace place = config.at("architectures");
    for (size_t i = 0; i < jsonArray(*list, place).size(); ++i)
      if (jsonText((*list)[i], place.item(i)) != found->architecture)
        fail(ErrorCode::BadInput, "{}: unknown architecture {}; known: {}", place.item(i).text(),
             quoteShort(jsonText((*list)[i], place.item(i))), knownTypes());
  }
  return *found;
}

int64_t tokenId(const Json &value, const JsonPlace &place) {
  uint64_t id = jsonCount(value, place);
  if (id > maxDimension)
    fail(ErrorCode::BadInput, "{}: expected a token id of at most {}, found {}", place.text(),
         maxDimension, id);
  return static_cast<int64_t>(id);
}

/// eos_token_id is one id, a list, or null; bos_token_id is one id or null.
void addTokens(JsonObject &config, ModelDesc &desc) {
  JsonPlace place = config.at("eos_token_id");
  if (const Json *eos = config.find("eos_token_id")) {
    if (!eos->is_array())
      desc.eosTokens.push_back(tokenId(*eos, place));
    else
      for (size_t i = 0; i < eos->size(); ++i)
        desc.eosTokens.push_back(tokenId((*eos)[i], place.item(i)));
  }
  const Json *bos = config.find("bos_token_id");
  if (bos && desc.bosToken == -1)
    desc.bosToken = tokenId(*bos, config.at("bos_token_id"));
}

bool isThere(const fs::path &path) {
  std::error_code error;
  return fs::exists(path, error);
}

/// The stop set is the union of both files'; the begin token comes from the first that has one.
void importTokens(JsonObject &config, const fs::path &directory, ModelDesc &desc) {
  addTokens(config, desc);
  fs::path path = directory / "generation_config.json";
  if (isThere(path)) {
    Json json = parseJson(readJsonFile(path.string()), path.string());
    JsonObject generation(json, {path.string(), ""}, JsonObject::Nulls::Absent);
    addTokens(generation, desc);
  }
  std::sort(desc.eosTokens.begin(), desc.eosTokens.end());
  desc.eosTokens.erase(std::unique(desc.eosTokens.begin(), desc.eosTokens.end()),
                       desc.eosTokens.end());
}

/// Any safetensors file counts: a shard without its index must be refused, not ignored.
bool hasSafetensors(const fs::path &directory) {
  std::error_code error;
  bool found = false;
  for (fs::directory_iterator entry(directory, error), end; !error && !found && entry != end;
       entry.increment(error))
    found = entry->path().extension() == ".safetensors" ||
            entry->path().filename() == "model.safetensors.index.json";
  if (error)
    fail(ErrorCode::Io, "{}: cannot be listed: {}", directory.string(), error.message());
  return found;
}

/// A checkpoint saved with a wrapper around the model, or without its head, has other beginnings:
/// the embedding's name tells.
void findPrefix(HuggingFaceModel &model) {
  constexpr std::string_view embedding = "embed_tokens.weight";
  std::vector<std::string> prefixes;
  for (const TensorInfo *tensor : model.checkpoint->tensors()) {
    const std::string_view name = tensor->name;
    if (name == embedding || name.ends_with("." + std::string(embedding)))
      prefixes.emplace_back(name.substr(0, name.size() - embedding.size()));
  }
  if (prefixes.size() > 1)
    fail(
        ErrorCode::BadInput,
        "the checkpoint has {} tensors named ...{}, behind {}; expected one: a model of text alone",
        prefixes.size(), embedding, firstNames(prefixes));
  if (prefixes.empty())
    return; // listed as missing when all are compared
  model.prefix = prefixes.front();
  const std::string_view inner = "model.";
  std::string outer = model.prefix;
  if (outer.ends_with(inner))
    outer.resize(outer.size() - inner.size());
  for (const std::string &head : {outer + "lm_head.weight", std::string("lm_head.weight")})
    if (model.checkpoint->find(head)) {
      model.head = head;
      return;
    }
}

fs::path normalDirectory(const std::string &directory) {
  fs::path path = fs::absolute(directory).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

std::unique_ptr<Checkpoint> openCheckpoint(const fs::path &path, const JsonProblems *problems) {
  try {
    return Checkpoint::open(path.string());
  } catch (const Error &) {
    if (!problems)
      throw;
    return nullptr; // who collects problems looks at the checkpoint by itself
  }
}

std::string pathIfThere(const fs::path &path) { return isThere(path) ? path.string() : ""; }

} // namespace

uint64_t configDimension(JsonObject &config, std::string_view key) {
  uint64_t value = config.count(key);
  if (value == 0 || value > maxDimension)
    fail(ErrorCode::BadInput, "{}: expected 1 to {}, found {}", config.at(key).text(), maxDimension,
         value);
  return value;
}

WeightFormat storedAs(const HuggingFaceModel &model, const std::string &tensor) {
  const TensorInfo *found = model.checkpoint ? model.checkpoint->find(tensor) : nullptr;
  if (!found)
    return WeightFormat::BF16;
  switch (found->dtype) {
  case DType::F32:
    return WeightFormat::F32;
  case DType::F16:
    return WeightFormat::F16;
  case DType::BF16:
    return WeightFormat::BF16;
  default:
    fail(ErrorCode::BadInput, "tensor {}: stored as {}; expected F32, F16 or BF16", tensor,
         dtypeName(found->dtype));
  }
}

void addPlainRule(ModelDesc &desc, const HuggingFaceModel &model, const std::string &weight,
                  const std::string &tensor) {
  addRule(desc, weight, [&](uint64_t layer) {
    WeightPart part;
    part.tensor = tensor;
    part.stored = storedAs(model, atLayer(tensor, layer));
    return TensorRule{{part}};
  });
}

ModelDesc importHuggingFace(const std::string &directory, std::vector<std::string> *problems) {
  fs::path path = normalDirectory(directory);
  std::string configPath = (path / "config.json").string();
  Json json = parseJson(readJsonFile(configPath), configPath);
  HuggingFaceModel model{JsonObject(json, {configPath, "", problems}, JsonObject::Nulls::Absent)};
  const Importer &importer = findImporter(model.config);
  std::unique_ptr<Checkpoint> checkpoint;
  ModelDesc desc;
  if (hasSafetensors(path)) {
    checkpoint = openCheckpoint(path, problems);
    desc.weightsDirectory = path.string();
  }
  model.checkpoint = checkpoint.get();
  if (checkpoint)
    findPrefix(model);
  desc.name = path.filename().string().empty() ? "model" : path.filename().string();
  importer.import(model, desc);
  importTokens(model.config, path, desc);
  desc.tokenizerPath = pathIfThere(path / "tokenizer.json");
  desc.chatTemplatePath = findChatTemplate(path.string());
  failIfAny(problems);
  validate(desc);
  return desc;
}

} // namespace inf
