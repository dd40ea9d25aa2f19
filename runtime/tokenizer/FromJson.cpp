// Tokenizer::fromJson: the tokenizer.json of Hugging Face.
#include "runtime/tokenizer/Tokenizer.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "runtime/base/Error.h"
#include "runtime/tokenizer/ByteAlphabet.h"
#include "runtime/tokenizer/JsonFields.h"
#include "runtime/tokenizer/PreTokenizerJson.h"
#include "runtime/tokenizer/Quote.h"
#include "runtime/tokenizer/TokenizerParts.h"

namespace inf {
namespace {

/// Content of each added token, with its id: the vocabulary may repeat them.
using AddedIds = std::unordered_map<std::string, int64_t>;

Json parse(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error &error) {
    fail(ErrorCode::BadInput,
         "tokenizer.json: not JSON, broken at byte {} of {}; the file is damaged or cut off",
         error.byte, text.size());
  } catch (const Json::exception &) { // a number that overflows a double
    fail(ErrorCode::BadInput, "tokenizer.json: holds a number that is too large");
  }
}

const Json &needArray(const FieldReader &object, const char *key) {
  const Json &value = object.need(key);
  if (!value.is_array())
    fail(ErrorCode::BadInput, "tokenizer.json: {} is a {}, expected an array", object.path(key),
         value.type_name());
  return value;
}

AddedIds readAdded(const FieldReader &root, TokenizerParts &parts) {
  AddedIds ids;
  if (!root.get("added_tokens"))
    return ids;
  const Json &list = needArray(root, "added_tokens");
  for (size_t i = 0; i < list.size(); ++i) {
    FieldReader token(list[i], fmt::format("added_tokens[{}]", i));
    token.onlyKeys({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    // "normalized" does not matter: there is no normalizer.
    for (const char *key : {"single_word", "lstrip", "rstrip"})
      token.mustBe(key, false);
    std::string content = token.text("content");
    parts.addWhole(token.integer("id"), content, token.boolean("special", false));
    ids.emplace(std::move(content), token.integer("id"));
  }
  return ids;
}

void readVocabulary(const FieldReader &model, const AddedIds &added, TokenTable &tokens) {
  const Json &vocabulary = model.need("vocab");
  if (!vocabulary.is_object())
    fail(ErrorCode::BadInput, "tokenizer.json: model.vocab is a {}, expected an object",
         vocabulary.type_name());
  for (const auto &item : vocabulary.items()) {
    const std::string &text = item.key();
    int64_t id = integerOf(item.value(), "the id of token " + quote(text));
    if (auto same = added.find(text); same != added.end()) {
      if (same->second != id)
        fail(ErrorCode::BadInput,
             "tokenizer.json: token {} has id {} in added_tokens and {} in model.vocab, expected "
             "the same",
             quote(text), same->second, id);
      continue;
    }
    std::optional<std::string> bytes = bytesOfAlphabet(text);
    if (!bytes)
      fail(ErrorCode::BadInput,
           "tokenizer.json: token {} (id {}) holds a character outside of the byte-level alphabet; "
           "only byte-level vocabularies are implemented",
           quote(text), id);
    tokens.add(id, *bytes, TokenKind::Ordinary);
  }
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

int32_t mergeToken(const TokenTable &tokens, const std::string &text, size_t rank) {
  std::optional<std::string> bytes = bytesOfAlphabet(text);
  int32_t id = bytes ? tokens.findOrdinary(*bytes) : -1;
  if (id < 0)
    fail(ErrorCode::BadInput,
         "tokenizer.json: model.merges[{}] names {}, which is no ordinary token of model.vocab",
         rank, quote(text));
  return id;
}

void readMerges(const FieldReader &model, TokenizerParts &parts) {
  const Json &list = needArray(model, "merges");
  parts.merges.reserve(list.size());
  for (size_t rank = 0; rank < list.size(); ++rank) {
    auto [left, right] = mergeHalves(list[rank], rank);
    int32_t made = mergeToken(parts.tokens, left + right, rank);
    if (!parts.merges.add(mergeToken(parts.tokens, left, rank),
                          mergeToken(parts.tokens, right, rank), {uint32_t(rank), made}))
      fail(ErrorCode::BadInput, "tokenizer.json: model.merges[{}] repeats the merge of {} and {}",
           rank, quote(left), quote(right));
  }
}

void readModel(const FieldReader &root, const AddedIds &added, TokenizerParts &parts) {
  FieldReader model(root.need("model"), "model");
  std::string type = model.text("type");
  if (type != "BPE")
    fail(ErrorCode::BadInput,
         "tokenizer.json: model.type is {}, expected \"BPE\"; this type is not implemented",
         quote(type));
  model.onlyKeys({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                  "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
  // unk_token and fuse_unk do not matter: every byte has a token.
  for (const char *key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
    model.mustBeUnset(key);
  model.mustBe("byte_fallback", false);
  parts.wholePieceFirst = model.boolean("ignore_merges", false);
  readVocabulary(model, added, parts.tokens);
  readMerges(model, parts);
}

/// The decoder and the post-processor: ByteLevel, whose options change offsets or nothing here.
void needByteLevel(const FieldReader &root, const char *key) {
  FieldReader object(root.need(key), key);
  std::string type = object.text("type");
  if (type != "ByteLevel")
    fail(ErrorCode::BadInput,
         "tokenizer.json: {} has type {}, expected \"ByteLevel\"; this type is not implemented",
         key, quote(type));
  object.onlyKeys({"type", "add_prefix_space", "trim_offsets", "use_regex"});
}

} // namespace

Tokenizer Tokenizer::fromJson(std::string_view jsonText) {
  const Json json = parse(jsonText);
  FieldReader root(json, "");
  root.onlyKeys({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                 "post_processor", "decoder", "model"});
  for (const char *key : {"truncation", "padding", "normalizer"})
    root.mustBeUnset(key);
  needByteLevel(root, "decoder");
  if (root.get("post_processor"))
    needByteLevel(root, "post_processor");

  auto parts = std::make_unique<TokenizerParts>();
  parts->patterns = readPreTokenizer(root.need("pre_tokenizer"));
  AddedIds added = readAdded(root, *parts);
  readModel(root, added, *parts);
  parts->seal();
  return Tokenizer(std::move(parts));
}

} // namespace inf
