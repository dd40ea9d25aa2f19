#include "compiler/frontends/gguf/TokenizerJson.h"

#include <optional>
#include <utility>

#include "compiler/frontends/Limits.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

/// The token under `key`, if the file wants it: as `flagKey` says, or else as `wanted` does.
std::optional<size_t> endToken(GgufMetadata &metadata, const std::vector<GgufToken> &tokens,
                               const std::string &key, const std::string &flagKey, bool wanted) {
  const std::optional<bool> asked = metadata.optionalFlag(flagKey);
  if (!asked.value_or(wanted))
    return std::nullopt;
  const std::optional<uint64_t> id = metadata.optionalCount(key, maxDimension);
  if (!id && !asked)
    return std::nullopt;
  if (!id || *id >= tokens.size())
    metadata.refuse(key, fmt::format("is {}, but {} is true; expected the id of one of {} tokens",
                                     id ? fmt::to_string(*id) : "missing", flagKey, tokens.size()));
  return size_t(*id);
}

GgufJson special(std::string_view text) {
  return {{"SpecialToken", {{"id", text}, {"type_id", 0}}}};
}

} // namespace

std::vector<GgufToken> ggufTokens(GgufMetadata &metadata) {
  const auto texts = metadata.strings(ggufTokensKey);
  const auto types = metadata.integers(ggufTokenTypesKey);
  if (texts.size() != types.size() || texts.empty() || texts.size() > maxDimension)
    metadata.refuse(ggufTokensKey, fmt::format("has {} tokens, {} has {} types; expected as many, "
                                               "and at least one",
                                               texts.size(), ggufTokenTypesKey, types.size()));
  std::vector<GgufToken> tokens;
  for (size_t id = 0; id < texts.size(); ++id) {
    if (types[id] < int64_t(GgufTokenType::Normal) || types[id] > int64_t(GgufTokenType::Byte))
      metadata.refuse(ggufTokenTypesKey,
                      fmt::format("gives token {} the type {}, which is not known; expected 1 to 6",
                                  id, types[id]));
    tokens.push_back({texts[id], GgufTokenType(types[id])});
  }
  return tokens;
}

GgufJson ggufAddedToken(size_t id, const GgufToken &token, bool takesSpace) {
  return {{"id", id},
          {"content", token.text},
          {"single_word", false},
          {"lstrip", false},
          {"rstrip", takesSpace},
          {"normalized", false},
          {"special", token.type != GgufTokenType::UserDefined}};
}

GgufJson ggufEnds(GgufMetadata &metadata, const std::vector<GgufToken> &tokens, bool addsBegin) {
  const auto begin = endToken(metadata, tokens, "tokenizer.ggml.bos_token_id",
                              "tokenizer.ggml.add_bos_token", addsBegin);
  const auto end = endToken(metadata, tokens, "tokenizer.ggml.eos_token_id",
                            "tokenizer.ggml.add_eos_token", false);
  if (!begin && !end)
    return nullptr;
  const GgufJson text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  GgufJson single = GgufJson::array(), specials = GgufJson::object();
  for (const auto &id : {begin, end}) {
    if (id) {
      const std::string_view name = tokens[*id].text;
      specials[std::string(name)] = {
          {"id", name}, {"ids", GgufJson::array({*id})}, {"tokens", GgufJson::array({name})}};
    }
  }
  if (begin)
    single.push_back(special(tokens[*begin].text));
  single.push_back(text);
  if (end)
    single.push_back(special(tokens[*end].text));
  return {{"type", "TemplateProcessing"},
          {"single", std::move(single)},
          {"pair", GgufJson::array()},
          {"special_tokens", std::move(specials)}};
}

std::string ggufTokenizerText(const GgufMetadata &metadata, GgufTokenizerStages stages) {
  const GgufJson json = {{"version", "1.0"},
                         {"truncation", nullptr},
                         {"padding", nullptr},
                         {"added_tokens", std::move(stages.addedTokens)},
                         {"normalizer", std::move(stages.normalizer)},
                         {"pre_tokenizer", std::move(stages.preTokenizer)},
                         {"post_processor", std::move(stages.ends)},
                         {"decoder", std::move(stages.decoder)},
                         {"model", std::move(stages.model)}};
  try {
    return json.dump();
  } catch (const nlohmann::json::exception &error) {
    metadata.refuse(ggufTokensKey,
                    fmt::format("or the merges hold text that is not UTF-8: {}", error.what()));
  }
}

} // namespace inf
