#include "compiler/frontends/gguf/Tokenizer.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/frontends/Suggest.h"
#include "compiler/frontends/gguf/PreTokenizers.h"
#include "compiler/frontends/gguf/ScoredTokenizer.h"
#include "compiler/frontends/gguf/TokenizerJson.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

constexpr char modelKey[] = "tokenizer.ggml.model", preKey[] = "tokenizer.ggml.pre",
               mergesKey[] = "tokenizer.ggml.merges";

const GgufPreTokenizer &preTokenizerOf(GgufMetadata &metadata) {
  const std::string name = metadata.text(preKey);
  std::string known;
  for (const GgufPreTokenizer &pre : ggufPreTokenizers()) {
    if (pre.name == name)
      return pre;
    known.append(known.empty() ? "" : ", ").append(pre.name);
  }
  metadata.refuse(preKey,
                  fmt::format("is {}, which is not implemented; expected one of {}. Compile with "
                              "--no-tokenizer to run token ids",
                              quoteShort(name), known));
}

GgufJson byteLevel(bool splits) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", splits}};
}

GgufJson splitBy(std::string_view pattern) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", pattern}}},
          {"behavior", "Isolated"},
          {"invert", false}};
}

GgufJson preTokenizerJson(const GgufPreTokenizer &pre) {
  GgufJson stages = GgufJson::array();
  for (std::string_view pattern : pre.patterns)
    stages.push_back(splitBy(pattern));
  stages.push_back(byteLevel(pre.thenGpt2));
  return {{"type", "Sequence"}, {"pretokenizers", std::move(stages)}};
}

/// The vocabulary of plain tokens and the list of added ones. A plain object: an ordered one would
/// search it through for each of 200,000 tokens.
struct Vocabulary {
  nlohmann::json plain = nlohmann::json::object();
  GgufJson added = GgufJson::array();
};

Vocabulary vocabularyOf(GgufMetadata &metadata, const std::vector<GgufToken> &tokens) {
  Vocabulary vocabulary;
  std::unordered_set<std::string_view> seen;
  for (size_t id = 0; id < tokens.size(); ++id) {
    const GgufToken &token = tokens[id];
    if (token.type == GgufTokenType::Unused)
      continue;
    if (!seen.insert(token.text).second)
      metadata.refuse(ggufTokensKey,
                      fmt::format("has token {} twice, the second is {}; expected once",
                                  quoteShort(token.text), id));
    if (token.type == GgufTokenType::Byte)
      metadata.refuse(ggufTokenTypesKey, fmt::format("gives token {} the type 6, which byte-level "
                                                     "BPE does not have; expected 1 to 5",
                                                     id));
    if (token.type == GgufTokenType::Normal)
      vocabulary.plain[std::string(token.text)] = id;
    else
      vocabulary.added.push_back(ggufAddedToken(id, token, /*takesSpace=*/false));
  }
  return vocabulary;
}

/// Without those that are there before: the first rank is the one that counts.
GgufJson mergesOf(GgufMetadata &metadata, std::vector<std::string> &notes) {
  GgufJson merges = GgufJson::array();
  std::unordered_set<std::string_view> seen;
  const auto all = metadata.strings(mergesKey);
  for (std::string_view merge : all)
    if (seen.insert(merge).second)
      merges.push_back(merge);
  if (merges.size() < all.size())
    notes.push_back(fmt::format("tokenizer: {} of {} merges are repeated; the first of each counts",
                                all.size() - merges.size(), all.size()));
  return merges;
}

std::string byteLevelTokenizerJson(GgufMetadata &metadata, std::vector<std::string> &notes) {
  const GgufPreTokenizer &pre = preTokenizerOf(metadata);
  const std::vector<GgufToken> tokens = ggufTokens(metadata);
  Vocabulary vocabulary = vocabularyOf(metadata, tokens);
  GgufTokenizerStages stages;
  stages.addedTokens = std::move(vocabulary.added);
  if (pre.normalizes)
    stages.normalizer = {{"type", "NFC"}};
  stages.preTokenizer = preTokenizerJson(pre);
  stages.ends = ggufEnds(metadata, tokens, pre.addsBegin);
  stages.decoder = byteLevel(true);
  stages.model = {{"type", "BPE"},
                  {"dropout", nullptr},
                  {"unk_token", nullptr},
                  {"continuing_subword_prefix", nullptr},
                  {"end_of_word_suffix", nullptr},
                  {"fuse_unk", false},
                  {"byte_fallback", false},
                  {"ignore_merges", pre.wholePieceFirst},
                  {"vocab", std::move(vocabulary.plain)},
                  {"merges", mergesOf(metadata, notes)}};
  return ggufTokenizerText(metadata, std::move(stages));
}

} // namespace

std::string ggufTokenizerJson(GgufMetadata &metadata, std::vector<std::string> &notes) {
  if (!metadata.has(modelKey))
    return "";
  const std::string model = metadata.text(modelKey);
  if (model == "gpt2")
    return byteLevelTokenizerJson(metadata, notes);
  if (model == "llama")
    return ggufScoredTokenizerJson(metadata);
  metadata.refuse(modelKey, fmt::format("is {}, which is not implemented; expected \"gpt2\" "
                                        "(byte-level BPE) or \"llama\" (SentencePiece). Compile "
                                        "with --no-tokenizer to run token ids",
                                        quoteShort(model)));
}

std::vector<int64_t> controlTokens(GgufMetadata &metadata,
                                   std::span<const std::string_view> texts) {
  std::vector<int64_t> ids;
  if (!metadata.has(ggufTokensKey) || !metadata.has(ggufTokenTypesKey))
    return ids;
  const std::vector<GgufToken> tokens = ggufTokens(metadata);
  for (size_t id = 0; id < tokens.size(); ++id)
    if (tokens[id].type == GgufTokenType::Control &&
        std::find(texts.begin(), texts.end(), tokens[id].text) != texts.end())
      ids.push_back(int64_t(id));
  return ids;
}

} // namespace inf
