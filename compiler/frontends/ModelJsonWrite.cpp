// Writes model.json (docs/model-json.md). Keys come in the order of the document; those at their
// default are left out where that reads better.
#include <algorithm>
#include <array>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "compiler/frontends/ModelDesc.h"
#include "compiler/frontends/RopeJson.h"

namespace inf {
namespace {

using Ordered = nlohmann::ordered_json;

Ordered writeAttention(const AttentionDesc &attention) {
  Ordered json{
      {"heads", attention.heads}, {"kv_heads", attention.kvHeads}, {"head_dim", attention.headDim}};
  if (attention.window)
    json["window"] = attention.window;
  for (auto [key, value] : {std::pair{"bias", attention.bias},
                            {"output_bias", attention.outputBias},
                            {"qk_norm", attention.qkNorm},
                            {"sinks", attention.sinks}})
    if (value)
      json[key] = true;
  if (attention.scale)
    json["scale"] = *attention.scale;
  json["rope"] = attention.rope;
  return json;
}

Ordered writeActivation(const ActivationDesc &activation) {
  if (activation.type != "swiglu_clamped")
    return activation.type;
  return {{"type", activation.type}, {"limit", activation.limit}, {"alpha", activation.alpha}};
}

Ordered writeBlock(const BlockDesc &block) {
  Ordered json{{"attention", writeAttention(block.attention)}};
  if (const auto &mlp = block.mlp) {
    json["mlp"] = {{"intermediate", mlp->intermediate}};
    if (mlp->bias)
      json["mlp"]["bias"] = true;
    json["mlp"]["activation"] = writeActivation(mlp->activation);
  }
  if (const auto &moe = block.moe) {
    json["moe"] = {
        {"experts", moe->experts}, {"top_k", moe->topK}, {"intermediate", moe->intermediate}};
    if (moe->routerBias)
      json["moe"]["router_bias"] = true;
    if (moe->expertBias)
      json["moe"]["expert_bias"] = true;
    if (!moe->normalizeTopK)
      json["moe"]["normalize_top_k"] = false;
    json["moe"]["activation"] = writeActivation(moe->activation);
  }
  return json;
}

/// The shortest pattern whose repetition gives all layers.
size_t patternLength(const std::vector<std::string> &layers) {
  for (size_t length = 1; length < layers.size(); ++length)
    if (layers.size() % length == 0 &&
        std::equal(layers.begin() + static_cast<long>(length), layers.end(), layers.begin()))
      return length;
  return layers.size();
}

Ordered writeLayers(const std::vector<std::string> &layers) {
  size_t length = patternLength(layers);
  if (length == layers.size())
    return layers;
  return {{"repeat", layers.size() / length},
          {"pattern",
           std::vector<std::string>(layers.begin(), layers.begin() + static_cast<long>(length))}};
}

/// The storage of most parts that are plain: written once at the top.
WeightFormat commonStorage(const ModelDesc &desc) {
  std::array<size_t, weightFormatNames.size()> counts{};
  for (const auto &[name, rule] : desc.tensors)
    for (const WeightPart &part : rule.parts)
      if (!isBlockFormat(part.stored))
        ++counts[static_cast<size_t>(part.stored)];
  WeightFormat best = WeightFormat::BF16;
  for (WeightFormat format : {WeightFormat::F32, WeightFormat::F16})
    if (counts[static_cast<size_t>(format)] > counts[static_cast<size_t>(best)])
      best = format;
  return best;
}

Ordered writePart(const WeightPart &part, WeightFormat common) {
  Ordered json;
  if (!part.scales.empty()) {
    json = {{"blocks", part.tensor}, {"scales", part.scales}};
  } else {
    json = {{"tensor", part.tensor}};
    if (part.stored != common)
      json["stored"] = weightFormatName(part.stored);
  }
  if (part.transposed)
    json["transposed"] = true;
  if (part.interleaved)
    json["interleaved"] = true;
  if (part.rows)
    json["rows"] = part.rows;
  return json.size() == 1 ? Ordered(part.tensor) : json;
}

Ordered writeRule(const TensorRule &rule, WeightFormat common) {
  if (rule.parts.size() == 1)
    return writePart(rule.parts.front(), common);
  Ordered json = Ordered::array();
  for (const WeightPart &part : rule.parts)
    json.push_back(writePart(part, common));
  return json;
}

/// Relative when both lie below the same top directory, so that the pair can be moved together.
std::string writePath(const std::string &path, const std::string &baseDirectory) {
  namespace fs = std::filesystem;
  fs::path target(path), base = fs::absolute(baseDirectory).lexically_normal();
  fs::path targetTop = target.relative_path(), baseTop = base.relative_path();
  if (!target.is_absolute() || targetTop.empty() || baseTop.empty() ||
      *targetTop.begin() != *baseTop.begin())
    return path;
  return target.lexically_relative(base).string();
}

} // namespace

std::string writeModelJson(const ModelDesc &desc, const std::string &baseDirectory) {
  validate(desc);
  WeightFormat common = commonStorage(desc);
  Ordered json{{"format", "inf-model"},
               {"version", 1},
               {"name", desc.name},
               {"architecture", desc.architecture},
               {"vocabulary", desc.vocabulary},
               {"hidden", desc.hidden},
               {"max_context", desc.maxContext},
               {"norm_eps", desc.normEps},
               {"tied_embeddings", desc.tiedEmbeddings}};
  json["ropes"] = json["blocks"] = Ordered::object();
  for (const auto &[name, rope] : desc.ropes)
    json["ropes"][name] = writeRopeJson(rope);
  for (const auto &[name, block] : desc.blocks)
    json["blocks"][name] = writeBlock(block);
  json["layers"] = writeLayers(desc.layers);
  json["stored"] = weightFormatName(common);
  json["tensors"] = Ordered::object();
  for (const auto &[name, rule] : desc.tensors)
    json["tensors"][name] = writeRule(rule, common);
  if (!desc.weightsDirectory.empty())
    json["weights"] = {{"directory", writePath(desc.weightsDirectory, baseDirectory)}};
  if (!desc.tokenizerPath.empty())
    json["tokenizer"] = writePath(desc.tokenizerPath, baseDirectory);
  if (!desc.chatTemplatePath.empty())
    json["chat_template"] = writePath(desc.chatTemplatePath, baseDirectory);
  json["eos_tokens"] = desc.eosTokens;
  if (desc.bosToken != -1)
    json["bos_token"] = desc.bosToken;
  return json.dump(2, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

} // namespace inf
