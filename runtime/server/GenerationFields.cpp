#include "runtime/server/GenerationFields.h"

#include <charconv>
#include <limits>
#include <random>

#include <fmt/format.h>

namespace inf {
namespace {

using nlohmann::json;

constexpr size_t mostStops = 16, mostStopBytes = 256, mostStopTokens = 64, mostBiases = 1024;

void set(float &to, std::optional<double> value) {
  if (value)
    to = static_cast<float>(*value);
}

void set(int &to, std::optional<int64_t> value) {
  if (value)
    to = static_cast<int>(*value);
}

uint64_t randomSeed() {
  std::random_device device;
  // Below 2^53, so that a client that reads JSON numbers as doubles gets it back exactly.
  return ((uint64_t(device()) << 32) | device()) >> 11;
}

void readBiases(RequestFields &fields, uint32_t vocabulary, SamplingOptions &sampling) {
  const json *biases = fields.find("logit_bias");
  if (!biases)
    return;
  RequestFields entries(*biases, fields.at("logit_bias"));
  if (biases->size() > mostBiases)
    throw invalidField(
        fields.at("logit_bias"), "invalid_value",
        fmt::format("has {} entries, expected at most {}.", biases->size(), mostBiases));
  for (const auto &item : biases->items()) {
    const std::string &key = item.key();
    int32_t id = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || id < 0 ||
        uint32_t(id) >= vocabulary || key != std::to_string(id))
      throw invalidField(entries.at(key), "invalid_value",
                         fmt::format("is no token id; expected 0 to {}.", vocabulary - 1));
    const std::optional<double> bias = entries.number(key.c_str(), -100, 100);
    if (bias)
      sampling.logitBias.push_back({id, static_cast<float>(*bias)});
  }
}

void readStops(RequestFields &fields, uint32_t vocabulary, GenerationFields &to) {
  const json *stop = fields.find("stop");
  if (stop && stop->is_string())
    to.stop.push_back(stop->get<std::string>());
  else
    for (const json *item : fields.array("stop", mostStops)) {
      if (!item->is_string())
        throw invalidField(fields.at("stop"), "invalid_type", "expects strings.");
      to.stop.push_back(item->get<std::string>());
    }
  for (const std::string &text : to.stop)
    if (text.empty() || text.size() > mostStopBytes)
      throw invalidField(
          fields.at("stop"), "invalid_value",
          fmt::format("has a string of {} bytes, expected 1 to {}.", text.size(), mostStopBytes));
  for (const json *item : fields.array("stop_token_ids", mostStopTokens)) {
    if (!item->is_number_unsigned() || item->get<uint64_t>() >= vocabulary)
      throw invalidField(fields.at("stop_token_ids"), "invalid_value",
                         fmt::format("expects token ids, 0 to {}.", vocabulary - 1));
    to.stopTokens.push_back(static_cast<int32_t>(item->get<uint64_t>()));
  }
  to.ignoreEos = fields.boolean("ignore_eos").value_or(false);
}

/// Names of OpenAI, then those of vLLM and llama.cpp.
void readSampling(RequestFields &fields, SamplingOptions &sampling) {
  constexpr double tiny = std::numeric_limits<float>::min();
  sampling.temperature = 1; // OpenAI's default
  set(sampling.temperature, fields.number("temperature", 0, 100));
  set(sampling.topP, fields.number("top_p", tiny, 1));
  set(sampling.frequencyPenalty, fields.number("frequency_penalty", -2, 2));
  set(sampling.presencePenalty, fields.number("presence_penalty", -2, 2));
  set(sampling.topK, fields.integer("top_k", -1, std::numeric_limits<int>::max()));
  sampling.topK = std::max(sampling.topK, 0); // -1 means all, as in vLLM
  set(sampling.minP, fields.number("min_p", 0, 1));
  set(sampling.repetitionPenalty, fields.number("repetition_penalty", tiny, 100));
  sampling.minTokens = uint64_t(fields.integer("min_tokens", 0, mostTokens).value_or(0));
  set(sampling.typicalP, fields.number("typical_p", tiny, 1));
  set(sampling.topNSigma, fields.number("top_n_sigma", 0, 100));
  set(sampling.xtcProbability, fields.number("xtc_probability", 0, 1));
  set(sampling.xtcThreshold, fields.number("xtc_threshold", tiny, 1));
  set(sampling.dryMultiplier, fields.number("dry_multiplier", 0, 100));
  set(sampling.dryBase, fields.number("dry_base", 1, 100));
  set(sampling.dryAllowedLength, fields.integer("dry_allowed_length", 1, 1 << 20));
  const auto seed = fields.integer("seed", std::numeric_limits<int64_t>::min(),
                                   std::numeric_limits<int64_t>::max());
  sampling.seed = seed ? static_cast<uint64_t>(*seed) : randomSeed();
}

void readStream(RequestFields &fields, GenerationFields &to) {
  to.stream = fields.boolean("stream").value_or(false);
  const json *value = fields.find("stream_options");
  if (!value)
    return;
  if (!to.stream)
    throw invalidField(fields.at("stream_options"), "invalid_value",
                       "is allowed only with \"stream\": true.");
  RequestFields options(*value, fields.at("stream_options"));
  to.includeUsage = options.boolean("include_usage").value_or(false);
  options.warnOf({"include_obfuscation"}, to.warnings);
  options.expectNothingElse();
}

} // namespace

GenerationFields readGenerationFields(RequestFields &fields, uint32_t vocabulary) {
  GenerationFields to;
  to.model = fields.needString("model");
  readSampling(fields, to.sampling);
  readBiases(fields, vocabulary, to.sampling);
  readStops(fields, vocabulary, to);
  readStream(fields, to);
  to.choices = uint32_t(fields.integer("n", 1, int64_t(mostChoices)).value_or(1));
  to.returnTokenIds = fields.boolean("return_token_ids").value_or(false);
  to.skipSpecial = fields.boolean("skip_special_tokens").value_or(true);
  return to;
}

void ignoreHarmlessFields(RequestFields &fields, GenerationFields &to) {
  fields.ignore({"user", "store", "metadata", "service_tier", "safety_identifier",
                 "prompt_cache_key", "prompt_cache_retention", "prediction"});
  for (const std::string &key : fields.ignored())
    to.warnings.push_back(key + " is ignored");
}

} // namespace inf
