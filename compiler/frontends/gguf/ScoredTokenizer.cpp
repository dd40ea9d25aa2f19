#include "compiler/frontends/gguf/ScoredTokenizer.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "compiler/frontends/Limits.h"
#include "compiler/frontends/Suggest.h"
#include "compiler/frontends/gguf/TokenizerJson.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

constexpr char scoresKey[] = "tokenizer.ggml.scores",
               unknownKey[] = "tokenizer.ggml.unknown_token_id";
constexpr std::string_view spaceMark = "\u2581"; // what a space is in a vocabulary

std::vector<double> scoresOf(GgufMetadata &metadata, size_t tokens) {
  std::vector<double> scores = metadata.numbers(scoresKey);
  if (scores.size() != tokens)
    metadata.refuse(scoresKey, fmt::format("has {} scores, expected one for each of {} tokens",
                                           scores.size(), tokens));
  return scores;
}

bool isWhole(GgufTokenType type) {
  return type == GgufTokenType::Unknown || type == GgufTokenType::Control ||
         type == GgufTokenType::UserDefined;
}

void checkByte(const GgufMetadata &metadata, size_t id, std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>' ||
      digits.find(text[3]) == digits.npos || digits.find(text[4]) == digits.npos)
    metadata.refuse(ggufTokenTypesKey,
                    fmt::format("says that token {}, {}, is a byte; expected <0x00> to <0xFF>", id,
                                quoteShort(text)));
}

/// The published files of Phi-3 don't say that most of its tokens take the white space behind them;
/// its tokenizer.json does.
struct SpaceTakers {
  explicit SpaceTakers(GgufMetadata &metadata) {
    std::string name = metadata.optionalText("general.name").value_or("");
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return c < 0x80 ? char(std::tolower(c)) : char(c); });
    any = name.find("phi-3") != name.npos || name.find("phi3") != name.npos;
  }
  bool holds(std::string_view token) const {
    return any && token != "<unk>" && token != "<s>" && token != "<|endoftext|>";
  }
  bool any;
};

struct Vocabulary {
  GgufJson entries = GgufJson::array(), added = GgufJson::array();
};

Vocabulary vocabularyOf(GgufMetadata &metadata, const std::vector<GgufToken> &tokens) {
  Vocabulary vocabulary;
  const std::vector<double> scores = scoresOf(metadata, tokens.size());
  const SpaceTakers takers(metadata);
  std::unordered_set<std::string_view> seen;
  for (size_t id = 0; id < tokens.size(); ++id) {
    const GgufToken &token = tokens[id];
    if (!seen.insert(token.text).second)
      metadata.refuse(ggufTokensKey,
                      fmt::format("has token {} twice, the second is {}; expected once",
                                  quoteShort(token.text), id));
    if (token.type == GgufTokenType::Byte)
      checkByte(metadata, id, token.text);
    if (isWhole(token.type))
      vocabulary.added.push_back(ggufAddedToken(id, token, takers.holds(token.text)));
    vocabulary.entries.push_back(GgufJson::array({token.text, scores[id]}));
  }
  return vocabulary;
}

GgufJson unknownOf(GgufMetadata &metadata, const std::vector<GgufToken> &tokens) {
  const auto id = metadata.optionalCount(unknownKey, maxDimension);
  if (!id)
    return nullptr;
  if (*id >= tokens.size())
    metadata.refuse(unknownKey,
                    fmt::format("is {}, expected the id of one of {} tokens", *id, tokens.size()));
  return tokens[size_t(*id)].text;
}

GgufJson replace(const char *kind, std::string_view what, std::string_view with) {
  return {{"type", "Replace"}, {"pattern", {{kind, what}}}, {"content", with}};
}

GgufJson normalizerOf(GgufMetadata &metadata, bool prefix) {
  GgufJson steps = GgufJson::array();
  if (metadata.optionalFlag("tokenizer.ggml.remove_extra_whitespaces").value_or(false)) {
    steps.push_back({{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}});
    steps.push_back(replace("Regex", " {2,}", " "));
  }
  if (prefix)
    steps.push_back({{"type", "Prepend"}, {"prepend", spaceMark}});
  steps.push_back(replace("String", " ", spaceMark));
  return {{"type", "Sequence"}, {"normalizers", std::move(steps)}};
}

GgufJson decoderOf(bool prefix) {
  GgufJson steps = GgufJson::array(
      {replace("String", spaceMark, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}});
  if (prefix)
    steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return {{"type", "Sequence"}, {"decoders", std::move(steps)}};
}

} // namespace

std::string ggufScoredTokenizerJson(GgufMetadata &metadata) {
  const std::vector<GgufToken> tokens = ggufTokens(metadata);
  Vocabulary vocabulary = vocabularyOf(metadata, tokens);
  const bool prefix = metadata.optionalFlag("tokenizer.ggml.add_space_prefix").value_or(true);
  GgufTokenizerStages stages;
  stages.addedTokens = std::move(vocabulary.added);
  stages.normalizer = normalizerOf(metadata, prefix);
  stages.ends = ggufEnds(metadata, tokens, /*addsBegin=*/true);
  stages.decoder = decoderOf(prefix);
  stages.model = {{"type", "ScoredBPE"},
                  {"unk_token", unknownOf(metadata, tokens)},
                  {"byte_fallback", true},
                  {"fuse_unk", false},
                  {"vocab", std::move(vocabulary.entries)}};
  return ggufTokenizerText(metadata, std::move(stages));
}

} // namespace inf
