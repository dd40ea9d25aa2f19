// What config.json says about layers, and keys that must stay at their neutral value.
#include "compiler/frontends/HuggingFace.h"
#include "compiler/frontends/Limits.h"
#include "compiler/frontends/Suggest.h"
#include "runtime/base/Error.h"

namespace inf {

void expectNeutral(JsonObject &config, std::string_view key, double neutral) {
  const std::optional<double> value = config.optionalNumber(key);
  if (value && *value != neutral)
    fail(ErrorCode::BadInput, "{}: expected {}, found {}, which is not implemented",
         config.at(key).text(), neutral, *value);
}

void expectNeutral(JsonObject &config, std::string_view key, bool neutral) {
  if (config.flag(key, neutral) != neutral)
    fail(ErrorCode::BadInput, "{}: expected {}, found {}, which is not implemented",
         config.at(key).text(), neutral, !neutral);
}

void expectAbsent(JsonObject &config, std::string_view key) {
  if (config.find(key))
    fail(ErrorCode::BadInput, "{}: expected no such key (or null): it is not implemented",
         config.at(key).text());
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

uint64_t countOfEither(JsonObject &config, std::string_view newer, std::string_view older) {
  const bool hasNewer = config.find(newer), hasOlder = config.find(older);
  const uint64_t count = configDimension(config, hasOlder && !hasNewer ? older : newer);
  if (hasOlder && hasNewer && config.count(older) != count)
    fail(ErrorCode::BadInput, "{}: {} ({}) and {} ({}) differ", config.here().text(), newer, count,
         older, config.count(older));
  return count;
}

} // namespace inf
