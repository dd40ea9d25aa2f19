// What config.json says about layers, and keys that must stay at their neutral value.
#include <algorithm>

#include "compiler/frontends/HuggingFace.h"
#include "compiler/frontends/Limits.h"
#include "compiler/frontends/Suggest.h"
#include "runtime/base/Error.h"

namespace inf {

static constexpr std::string_view whatNext =
    "choose a checkpoint without it; docs/bring-your-own-model.md says what can be described";

void expectNeutral(JsonObject &config, std::string_view key, double neutral) {
  const std::optional<double> value = config.optionalNumber(key);
  if (value && *value != neutral)
    fail(ErrorCode::BadInput, "{}: expected {}, found {}, which is not implemented; {}",
         config.at(key).text(), neutral, *value, whatNext);
}

void expectNeutral(JsonObject &config, std::string_view key, bool neutral) {
  if (config.flag(key, neutral) != neutral)
    fail(ErrorCode::BadInput, "{}: expected {}, found {}, which is not implemented; {}",
         config.at(key).text(), neutral, !neutral, whatNext);
}

void expectAbsent(JsonObject &config, std::string_view key) {
  if (const Json *value = config.find(key))
    fail(ErrorCode::BadInput,
         "{}: expected no such key or null, found {} {}: it is not implemented; {}",
         config.at(key).text(), value->is_object() || value->is_array() ? "an" : "a",
         value->type_name(), whatNext);
}

uint64_t layerCount(JsonObject &config) {
  const uint64_t count = configDimension(config, "num_hidden_layers");
  if (count > maxLayers)
    fail(ErrorCode::BadInput, "{}: expected 1 to {}, found {}",
         config.at("num_hidden_layers").text(), maxLayers, count);
  return count;
}

static bool isSliding(const Json &value, const JsonPlace &place) {
  const std::string type = jsonText(value, place);
  if (type != "sliding_attention" && type != "full_attention")
    fail(ErrorCode::BadInput, "{}: unknown layer type {}; known: sliding_attention, full_attention",
         place.text(), quoteShort(type));
  return type == "sliding_attention";
}

std::optional<std::vector<bool>> slidingLayers(JsonObject &config, uint64_t layers) {
  const Json *types = config.find("layer_types");
  if (!types)
    return std::nullopt;
  const JsonPlace place = config.at("layer_types");
  if (jsonArray(*types, place).size() != layers)
    fail(ErrorCode::BadInput, "{}: expected num_hidden_layers ({}) entries, found {}", place.text(),
         layers, types->size());
  std::vector<bool> sliding;
  for (uint64_t i = 0; i < layers; ++i)
    sliding.push_back(isSliding((*types)[i], place.item(i)));
  return sliding;
}

bool importTied(HuggingFaceModel &model) {
  const bool tied = model.config.flag("tie_word_embeddings", false);
  if (!tied || !model.checkpoint)
    return tied;
  const TensorInfo *head = model.checkpoint->find(model.head);
  const std::string name = model.prefix + "embed_tokens.weight";
  const TensorInfo *embedding = model.checkpoint->find(name);
  if (!head || !embedding)
    return true;
  const auto bytes = model.checkpoint->data(model.head), others = model.checkpoint->data(name);
  if (head->dtype == embedding->dtype && head->shape == embedding->shape &&
      std::equal(bytes.begin(), bytes.end(), others.begin(), others.end()))
    return false;
  fail(ErrorCode::BadInput,
       "{}: true, but the checkpoint has a tensor {} that differs from {}; set it to false to take "
       "the tensor, or remove the tensor",
       model.config.at("tie_word_embeddings").text(), model.head, name);
}

uint64_t countOfEither(JsonObject &config, std::string_view newer, std::string_view older) {
  const bool hasNewer = config.find(newer), hasOlder = config.find(older);
  const uint64_t count = configDimension(config, hasOlder && !hasNewer ? older : newer);
  if (hasOlder && hasNewer && config.count(older) != count)
    fail(ErrorCode::BadInput, "{}: {} ({}) and {} ({}) differ", config.here().text(), newer, count,
         older, config.count(older));
  return count;
}

} // namespace inf
