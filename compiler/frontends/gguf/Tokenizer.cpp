#include "compiler/frontends/gguf/Tokenizer.h"

#include <algorithm>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "compiler/frontends/Limits.h"
#include "compiler/frontends/Suggest.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

using Json = nlohmann::ordered_json;

constexpr char modelKey[] = "tokenizer.ggml.model", preKey[] = "tokenizer.ggml.pre",
               tokensKey[] = "tokenizer.ggml.tokens", typesKey[] = "tokenizer.ggml.token_type",
               mergesKey[] = "tokenizer.ggml.merges";

/// llama_token_type of llama.cpp.
enum TokenType : int64_t { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5 };

struct PreTokenizer {
  std::string_view name;
  std::string_view pattern; ///< "": GPT-2's, which is part of the byte-level stage
  bool wholePieceFirst;     ///< a piece that is a token is not merged from its bytes
};

// The patterns that the models' own tokenizer.json files have.
constexpr std::string_view llama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view o200kPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr PreTokenizer preTokenizers[] = {
    {"gpt-2", "", false},
    {"llama-bpe", llama3Pattern, true},
    {"llama3", llama3Pattern, true},
    {"llama-v3", llama3Pattern, true},
    {"gpt-4o", o200kPattern, false},
};

const PreTokenizer &preTokenizerOf(GgufMetadata &metadata) {
  const std::string name = metadata.text(preKey);
  std::string known;
  for (const PreTokenizer &pre : preTokenizers) {
    if (pre.name == name)
      return pre;
    known.append(known.empty() ? "" : ", ").append(pre.name);
  }
  metadata.refuse(
      preKey, fmt::format("is {}, which is not implemented; known: {}", quoteShort(name), known));
}

struct Token {
  std::string_view text;
  int64_t type;
};

std::vector<Token> tokensOf(GgufMetadata &metadata) {
  const auto texts = metadata.strings(tokensKey);
  const auto types = metadata.integers(typesKey);
  if (texts.size() != types.size() || texts.empty() || texts.size() > maxDimension)
    metadata.refuse(tokensKey, fmt::format("has {} tokens, {} has {} types; expected as many, and "
                                           "at least one",
                                           texts.size(), typesKey, types.size()));
  std::vector<Token> tokens;
  for (size_t id = 0; id < texts.size(); ++id)
    tokens.push_back({texts[id], types[id]});
  return tokens;
}

Json byteLevel(bool splits) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", splits}};
}

Json preTokenizerJson(const PreTokenizer &pre) {
  if (pre.pattern.empty())
    return byteLevel(true);
  Json split = {{"type", "Split"},
                {"pattern", {{"Regex", pre.pattern}}},
                {"behavior", "Isolated"},
                {"invert", false}};
  return {{"type", "Sequence"}, {"pretokenizers", Json::array({split, byteLevel(false)})}};
}

Json addedToken(size_t id, const Token &token) {
  return {{"id", id},
          {"content", token.text},
          {"single_word", false},
          {"lstrip", false},
          {"rstrip", false},
          {"normalized", false},
          {"special", token.type != UserDefined}};
}

/// The vocabulary of plain tokens and the list of added ones. A plain object: an ordered one would
/// search it through for each of 200,000 tokens.
struct Vocabulary {
  nlohmann::json plain = nlohmann::json::object();
  Json added = Json::array();
};

Vocabulary vocabularyOf(GgufMetadata &metadata) {
  Vocabulary vocabulary;
  std::unordered_set<std::string_view> seen;
  const std::vector<Token> tokens = tokensOf(metadata);
  for (size_t id = 0; id < tokens.size(); ++id) {
    const Token &token = tokens[id];
    if (token.type == Unused)
      continue;
    if (!seen.insert(token.text).second)
      metadata.refuse(tokensKey, fmt::format("has token {} twice, the second is {}; expected once",
                                             quoteShort(token.text), id));
    if (token.type == Normal)
      vocabulary.plain[std::string(token.text)] = id;
    else if (token.type >= Unknown && token.type <= UserDefined)
      vocabulary.added.push_back(addedToken(id, token));
    else
      metadata.refuse(typesKey, fmt::format("gives token {} the type {}, which byte-level BPE does "
                                            "not have; expected 1 to 5",
                                            id, token.type));
  }
  return vocabulary;
}

/// Without those that are there before: the first rank is the one that counts.
Json mergesOf(GgufMetadata &metadata, std::vector<std::string> &notes) {
  Json merges = Json::array();
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

std::string write(const GgufMetadata &metadata, const Json &json) {
  try {
    return json.dump();
  } catch (const nlohmann::json::exception &error) {
    metadata.refuse(tokensKey,
                    fmt::format("or {} hold text that is not UTF-8: {}", mergesKey, error.what()));
  }
}

} // namespace

std::string ggufTokenizerJson(GgufMetadata &metadata, std::vector<std::string> &notes) {
  if (!metadata.has(modelKey))
    return "";
  const std::string model = metadata.text(modelKey);
  if (model != "gpt2")
    metadata.refuse(modelKey,
                    fmt::format("is {}{}, which is not implemented; expected \"gpt2\" (byte-level "
                                "BPE). Compile with --no-tokenizer to run token ids",
                                quoteShort(model), model == "llama" ? " (SentencePiece)" : ""));
  const PreTokenizer &pre = preTokenizerOf(metadata);
  Vocabulary vocabulary = vocabularyOf(metadata);
  Json bpe = {{"type", "BPE"},
              {"dropout", nullptr},
              {"unk_token", nullptr},
              {"continuing_subword_prefix", nullptr},
              {"end_of_word_suffix", nullptr},
              {"fuse_unk", false},
              {"byte_fallback", false},
              {"ignore_merges", pre.wholePieceFirst},
              {"vocab", std::move(vocabulary.plain)},
              {"merges", mergesOf(metadata, notes)}};
  return write(metadata, {{"version", "1.0"},
                          {"truncation", nullptr},
                          {"padding", nullptr},
                          {"added_tokens", std::move(vocabulary.added)},
                          {"normalizer", nullptr},
                          {"pre_tokenizer", preTokenizerJson(pre)},
                          {"post_processor", nullptr},
                          {"decoder", byteLevel(true)},
                          {"model", std::move(bpe)}});
}

std::vector<int64_t> controlTokens(GgufMetadata &metadata,
                                   std::span<const std::string_view> texts) {
  std::vector<int64_t> ids;
  if (!metadata.has(tokensKey) || !metadata.has(typesKey))
    return ids;
  const std::vector<Token> tokens = tokensOf(metadata);
  for (size_t id = 0; id < tokens.size(); ++id)
    if (tokens[id].type == Control &&
        std::find(texts.begin(), texts.end(), tokens[id].text) != texts.end())
      ids.push_back(int64_t(id));
  return ids;
}

} // namespace inf
