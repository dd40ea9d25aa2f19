#include "runtime/tokenizer/ModelJson.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "runtime/base/Error.h"
#include "runtime/tokenizer/ByteAlphabet.h"
#include "runtime/tokenizer/Quote.h"

namespace inf {
namespace {

/// The bytes that a vocabulary's text stands for; nothing when it is not in the alphabet.
std::optional<std::string> bytesOf(const TokenizerParts &parts, const std::string &text) {
  return parts.byteLevel ? bytesOfAlphabet(text) : std::optional(text);
}

/// A token that the list of added ones has as well.
void addKnown(const std::string &text, int64_t id, const AddedToken &known, TokenizerParts &parts) {
  if (known.id != id)
    fail(ErrorCode::BadInput,
         "tokenizer.json: token {} has id {} in added_tokens and {} in model.vocab, expected "
         "the same",
         quote(text), known.id, id);
  if (!known.special && bytesOf(parts, text) == text)
    parts.tokens.addOrdinary(int32_t(id));
}

void addToken(const std::string &text, int64_t id, const AddedByContent &added,
              TokenizerParts &parts) {
  if (auto known = added.find(text); known != added.end())
    return addKnown(text, id, known->second, parts);
  std::optional<std::string> bytes = bytesOf(parts, text);
  if (!bytes)
    fail(ErrorCode::BadInput,
         "tokenizer.json: token {} (id {}) holds a character outside of the byte-level alphabet, "
         "in which a vocabulary is written whose pre_tokenizer is ByteLevel",
         quote(text), id);
  parts.tokens.add(id, *bytes, TokenKind::Ordinary);
}

void readVocabulary(const FieldReader &model, const AddedByContent &added, TokenizerParts &parts) {
  const Json &vocabulary = model.need("vocab");
  if (!vocabulary.is_object())
    fail(ErrorCode::BadInput, "tokenizer.json: model.vocab is a {}, expected an object",
         vocabulary.type_name());
  for (const auto &item : vocabulary.items())
    addToken(item.key(), integerOf(item.value(), "the id of token " + quote(item.key())), added,
             parts);
}

/// A merge is "left right" or ["left", "right"].
std::pair<std::string, std::string> mergeHalves(const Json &json, size_t rank) {
  if (json.is_string()) {
    const auto &text = json.get_ref<const std::string &>();
    size_t space = text.find(' ');
    if (space != text.npos && text.find(' ', space + 1) == text.npos)
      return {text.substr(0, space), text.substr(space + 1)};
  } else if (json.is_array() && json.size() == 2 && json[0].is_string() && json[1].is_string()) {
    return {json[0].get<std::string>(), json[1].get<std::string>()};
  }
  fail(ErrorCode::BadInput,
       "tokenizer.json: model.merges[{}] is not two tokens, expected \"left right\" or "
       "[\"left\", \"right\"]",
       rank);
}

int32_t mergeToken(const TokenizerParts &parts, const std::string &text, size_t rank) {
  std::optional<std::string> bytes = bytesOf(parts, text);
  int32_t id = bytes ? parts.tokens.findOrdinary(*bytes) : -1;
  if (id < 0)
    fail(ErrorCode::BadInput,
         "tokenizer.json: model.merges[{}] names {}, which is no ordinary token of model.vocab",
         rank, quote(text));
  return id;
}

void readMerges(const FieldReader &model, TokenizerParts &parts) {
  const Json &list = model.array("merges");
  parts.merges.reserve(list.size());
  for (size_t rank = 0; rank < list.size(); ++rank) {
    auto [left, right] = mergeHalves(list[rank], rank);
    int32_t made = mergeToken(parts, left + right, rank);
    if (!parts.merges.add(mergeToken(parts, left, rank), mergeToken(parts, right, rank),
                          {uint32_t(rank), made}))
      fail(ErrorCode::BadInput, "tokenizer.json: model.merges[{}] repeats the merge of {} and {}",
           rank, quote(left), quote(right));
    // Tokens of bytes stand for characters that the token's text does not have.
    if (left.starts_with("<0x") || right.starts_with("<0x"))
      parts.mayCut = false;
  }
}

/// Byte-level vocabularies have a token for each byte, so nothing is ever unknown.
void readUnknown(const FieldReader &model, TokenizerParts &parts) {
  parts.byteFallback = model.boolean("byte_fallback", false);
  parts.fuseUnknown = model.boolean("fuse_unk", false);
  if (!model.get("unk_token") || parts.byteLevel)
    return;
  std::string text = model.text("unk_token");
  parts.unknown = parts.tokens.find(text);
  if (parts.unknown < 0)
    fail(ErrorCode::BadInput, "tokenizer.json: model.unk_token is {}, which is no token",
         quote(text));
}

void readBpe(const FieldReader &model, const AddedByContent &added, TokenizerParts &parts) {
  model.onlyKeys({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                  "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
  for (const char *key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
    model.mustBeUnset(key);
  parts.wholePieceFirst = model.boolean("ignore_merges", false);
  readVocabulary(model, added, parts);
  readMerges(model, parts);
  readUnknown(model, parts);
}

double scoreOf(const Json &entry, size_t id) {
  if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number() ||
      !std::isfinite(entry[1].get<double>()))
    fail(ErrorCode::BadInput,
         "tokenizer.json: model.vocab[{}] is not a token, expected [\"text\", score]", id);
  return entry[1].get<double>();
}

/// The best score has rank 0; equal scores have equal ranks.
std::vector<uint32_t> ranksOf(const std::vector<double> &scores) {
  std::vector<double> best = scores;
  std::sort(best.begin(), best.end(), std::greater<>());
  best.erase(std::unique(best.begin(), best.end()), best.end());
  std::vector<uint32_t> ranks;
  for (double score : scores)
    ranks.push_back(uint32_t(std::lower_bound(best.begin(), best.end(), score, std::greater<>()) -
                             best.begin()));
  return ranks;
}

void readScored(const FieldReader &model, const AddedByContent &added, TokenizerParts &parts) {
  model.onlyKeys({"type", "unk_token", "byte_fallback", "fuse_unk", "vocab"});
  if (parts.byteLevel)
    model.refuse("type", "ScoredBPE", "BPE with a ByteLevel pre_tokenizer");
  const Json &vocabulary = model.array("vocab", size_t(TokenTable::idLimit));
  std::vector<double> scores;
  for (size_t id = 0; id < vocabulary.size(); ++id) {
    scores.push_back(scoreOf(vocabulary[id], id));
    addToken(vocabulary[id][0].get<std::string>(), int64_t(id), added, parts);
  }
  parts.ranks = ranksOf(scores);
  parts.mergeByRank = true;
  readUnknown(model, parts);
}

} // namespace

void readModel(const FieldReader &root, const AddedByContent &added, TokenizerParts &parts) {
  FieldReader model(root.need("model"), "model");
  std::string type = model.text("type");
  if (type == "BPE")
    return readBpe(model, added, parts);
  if (type == "ScoredBPE")
    return readScored(model, added, parts);
  model.refuse("type", type, "BPE or ScoredBPE");
}

} // namespace inf
