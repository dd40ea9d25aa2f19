// Reads model.json (docs/model-json.md).
#include <algorithm>
#include <filesystem>

#include "compiler/frontends/JsonReader.h"
#include "compiler/frontends/Limits.h"
#include "compiler/frontends/ModelDesc.h"
#include "compiler/frontends/RopeJson.h"
#include "compiler/frontends/Suggest.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

AttentionDesc parseAttention(JsonObject object) {
  AttentionDesc attention;
  attention.heads = object.count("heads");
  attention.kvHeads = object.count("kv_heads", attention.heads);
  attention.headDim = object.count("head_dim");
  attention.window = object.count("window", 0);
  attention.bias = object.flag("bias", false);
  attention.outputBias = object.flag("output_bias", false);
  attention.qkNorm = object.flag("qk_norm", false);
  attention.sinks = object.flag("sinks", false);
  attention.scale = object.optionalNumber("scale");
  attention.rope = object.text("rope");
  object.refuseUnknownKeys();
  return attention;
}

ActivationDesc parseActivation(JsonObject &owner) {
  ActivationDesc activation;
  const Json *value = owner.find("activation");
  if (!value)
    return activation;
  JsonPlace place = owner.at("activation");
  if (value->is_string()) {
    activation.type = jsonText(*value, place);
    return activation;
  }
  if (!value->is_object())
    failType(*value, place, "a name or an object");
  JsonObject object(*value, place);
  activation.type = object.text("type");
  if (activation.type == "swiglu_clamped") {
    activation.limit = object.number("limit", activation.limit);
    activation.alpha = object.number("alpha", activation.alpha);
  } else if (activation.type != "swiglu") {
    fail(ErrorCode::BadInput, "{}: unknown activation {}; known: swiglu, swiglu_clamped",
         object.at("type").text(), quoteShort(activation.type));
  }
  object.refuseUnknownKeys();
  return activation;
}

MlpDesc parseMlp(JsonObject object) {
  MlpDesc mlp;
  mlp.intermediate = object.count("intermediate");
  mlp.bias = object.flag("bias", false);
  mlp.activation = parseActivation(object);
  object.refuseUnknownKeys();
  return mlp;
}

MoeDesc parseMoe(JsonObject object) {
  MoeDesc moe;
  moe.experts = object.count("experts");
  moe.topK = object.count("top_k");
  moe.intermediate = object.count("intermediate");
  moe.routerBias = object.flag("router_bias", false);
  moe.expertBias = object.flag("expert_bias", false);
  moe.normalizeTopK = object.flag("normalize_top_k", true);
  moe.activation = parseActivation(object);
  object.refuseUnknownKeys();
  return moe;
}

BlockDesc parseBlock(JsonObject object) {
  BlockDesc block;
  block.attention = parseAttention(object.object("attention"));
  if (object.find("mlp"))
    block.mlp = parseMlp(object.object("mlp"));
  if (object.find("moe"))
    block.moe = parseMoe(object.object("moe"));
  object.refuseUnknownKeys();
  return block;
}

std::vector<std::string> parseNames(const Json &value, const JsonPlace &place) {
  jsonArray(value, place);
  if (value.size() > maxLayers)
    fail(ErrorCode::BadInput, "{}: expected at most {} layers, found {}", place.text(), maxLayers,
         value.size());
  std::vector<std::string> names;
  for (size_t i = 0; i < value.size(); ++i) {
    names.push_back(jsonText(value[i], place.item(i)));
    // Checked here, since a pattern multiplies its names.
    if (names.back().size() > maxNameBytes)
      fail(ErrorCode::BadInput, "{}: expected a name of at most {} bytes, found {}",
           place.item(i).text(), maxNameBytes, quoteShort(names.back()));
  }
  return names;
}

/// ["a", "b", ...] or {"repeat": 12, "pattern": ["a", "b"]}.
std::vector<std::string> parseLayers(JsonObject &root) {
  const Json &value = root.require("layers");
  JsonPlace place = root.at("layers");
  if (value.is_array())
    return parseNames(value, place);
  if (!value.is_object())
    failType(value, place, "an array of block names or {\"repeat\", \"pattern\"}");
  JsonObject object(value, place);
  uint64_t repeat = object.count("repeat");
  auto pattern = parseNames(object.require("pattern"), object.at("pattern"));
  object.refuseUnknownKeys();
  if (repeat == 0 || pattern.empty() || repeat > maxLayers / pattern.size())
    fail(ErrorCode::BadInput, "{}: expected 1 to {} layers, found {} times {}", place.text(),
         maxLayers, repeat, pattern.size());
  std::vector<std::string> layers;
  for (uint64_t i = 0; i < repeat; ++i)
    layers.insert(layers.end(), pattern.begin(), pattern.end());
  return layers;
}

WeightFormat parseStored(const std::string &name, const JsonPlace &place) {
  if (auto format = weightFormatByName(name))
    return *format;
  fail(ErrorCode::BadInput, "{}: unknown storage {}; known: {}", place.text(), quoteShort(name),
       fmt::join(weightFormatNames, ", "));
}

/// What parts are stored as that don't say it: vectors too, which are never blocks.
WeightFormat parseCommonStorage(JsonObject &root) {
  WeightFormat format = parseStored(root.text("stored", "bf16"), root.at("stored"));
  if (isBlockFormat(format))
    fail(ErrorCode::BadInput,
         "{}: expected f32, f16 or bf16, found {}; write it on the parts that are stored so (mxfp4 "
         "of a checkpoint as \"blocks\" and \"scales\")",
         root.at("stored").text(), weightFormatName(format));
  return format;
}

WeightPart parsePart(const Json &value, const JsonPlace &place, WeightFormat stored) {
  WeightPart part;
  part.stored = stored;
  if (value.is_string()) {
    part.tensor = jsonText(value, place);
    return part;
  }
  if (!value.is_object())
    failType(value, place, "a tensor's name or an object");
  JsonObject object(value, place);
  if (object.find("blocks")) {
    part.tensor = object.text("blocks");
    part.scales = object.text("scales");
    part.stored = WeightFormat::MXFP4;
  } else {
    part.tensor = object.text("tensor");
    if (object.find("stored"))
      part.stored = parseStored(object.text("stored"), object.at("stored"));
    part.transposed = object.flag("transposed", false);
  }
  part.interleaved = object.flag("interleaved", false);
  part.rows = object.count("rows", 0);
  object.refuseUnknownKeys();
  return part;
}

TensorRule parseRule(const Json &value, const JsonPlace &place, WeightFormat stored) {
  TensorRule rule;
  if (!value.is_array()) {
    rule.parts.push_back(parsePart(value, place, stored));
    return rule;
  }
  if (value.size() > maxPartsOfWeight)
    fail(ErrorCode::BadInput, "{}: expected at most {} parts, found {}", place.text(),
         maxPartsOfWeight, value.size());
  for (size_t i = 0; i < value.size(); ++i)
    rule.parts.push_back(parsePart(value[i], place.item(i), stored));
  return rule;
}

int64_t parseToken(const Json &value, const JsonPlace &place) {
  uint64_t token = jsonCount(value, place);
  if (token > maxDimension)
    fail(ErrorCode::BadInput, "{}: expected a token id of at most {}, found {}", place.text(),
         maxDimension, token);
  return static_cast<int64_t>(token);
}

void parseTokens(JsonObject &root, ModelDesc &desc) {
  if (const Json *eos = root.find("eos_tokens")) {
    JsonPlace place = root.at("eos_tokens");
    for (size_t i = 0; i < jsonArray(*eos, place).size(); ++i)
      desc.eosTokens.push_back(parseToken((*eos)[i], place.item(i)));
    std::sort(desc.eosTokens.begin(), desc.eosTokens.end());
    desc.eosTokens.erase(std::unique(desc.eosTokens.begin(), desc.eosTokens.end()),
                         desc.eosTokens.end());
  }
  if (const Json *bos = root.find("bos_token"))
    desc.bosToken = parseToken(*bos, root.at("bos_token"));
}

std::string resolvePath(const std::string &written, const JsonPlace &place,
                        const std::string &baseDirectory) {
  if (written.empty() || written.find('\0') != std::string::npos)
    fail(ErrorCode::BadInput, "{}: expected a path, found {}", place.text(), quoteShort(written));
  namespace fs = std::filesystem;
  fs::path path = fs::absolute(fs::path(baseDirectory) / written).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).string();
}

void parsePaths(JsonObject &root, ModelDesc &desc, const std::string &base) {
  if (root.find("weights")) {
    JsonObject weights = root.object("weights");
    desc.weightsDirectory = resolvePath(weights.text("directory"), weights.at("directory"), base);
    weights.refuseUnknownKeys();
  }
  if (root.find("tokenizer"))
    desc.tokenizerPath = resolvePath(root.text("tokenizer"), root.at("tokenizer"), base);
  if (root.find("chat_template"))
    desc.chatTemplatePath = resolvePath(root.text("chat_template"), root.at("chat_template"), base);
}

/// Calls read(name, value, place) for every entry of the object at `key`, whose keys are free.
template <typename Read> void forEntries(JsonObject &root, std::string_view key, Read read) {
  JsonObject object = root.object(key);
  for (const auto &[name, value] : object.json().items())
    read(name, value, object.at(name));
}

void checkFormat(JsonObject &root) {
  if (!root.find("format") && root.json().contains("model_type"))
    fail(ErrorCode::BadInput,
         "{}: this is a Hugging Face config.json, expected a model description with \"format\": "
         "\"inf-model\"; give the checkpoint's directory instead",
         root.here().text());
  std::string format = root.text("format");
  if (format != "inf-model")
    fail(ErrorCode::BadInput, "{}: expected \"inf-model\", found {}", root.at("format").text(),
         quoteShort(format));
  uint64_t version = root.count("version");
  if (version != 1)
    fail(ErrorCode::BadInput, "{}: expected 1, found {}; a newer compiler may read it",
         root.at("version").text(), version);
}

void parseFacts(JsonObject &root, ModelDesc &desc) {
  desc.name = root.text("name");
  desc.architecture = root.text("architecture");
  desc.vocabulary = root.count("vocabulary");
  desc.hidden = root.count("hidden");
  desc.maxContext = root.count("max_context");
  desc.normEps = root.number("norm_eps", desc.normEps);
  desc.tiedEmbeddings = root.flag("tied_embeddings", false);
}

ModelDesc parseDescription(const Json &json, const std::string &source, const std::string &base,
                           JsonProblems *problems) {
  JsonObject root(json, {source, "", problems});
  ModelDesc desc;
  checkFormat(root);
  parseFacts(root, desc);
  forEntries(root, "ropes", [&](const std::string &name, const Json &value, JsonPlace place) {
    desc.ropes[name] = parseRopeJson(JsonObject(value, place));
  });
  forEntries(root, "blocks", [&](const std::string &name, const Json &value, JsonPlace place) {
    desc.blocks[name] = parseBlock(JsonObject(value, place));
  });
  desc.layers = parseLayers(root);
  WeightFormat stored = parseCommonStorage(root);
  forEntries(root, "tensors", [&](const std::string &name, const Json &value, JsonPlace place) {
    desc.tensors[name] = parseRule(value, place, stored);
  });
  parseTokens(root, desc);
  parsePaths(root, desc, base);
  root.refuseUnknownKeys();
  failIfAny(problems);
  validate(desc);
  return desc;
}

ModelDesc parseNamed(const std::string &text, const std::string &source, const std::string &base,
                     JsonProblems *problems) {
  return parseDescription(parseJson(text, source), source, base, problems);
}

} // namespace

ModelDesc parseModelJson(const std::string &text, const std::string &baseDirectory) {
  return parseNamed(text, "model.json", baseDirectory, nullptr);
}

ModelDesc readModelJson(const std::string &path, std::vector<std::string> *problems) {
  std::string base = std::filesystem::path(path).parent_path().string();
  return parseNamed(readJsonFile(path), path, base.empty() ? "." : base, problems);
}

} // namespace inf
