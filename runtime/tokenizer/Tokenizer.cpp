#include "runtime/tokenizer/Tokenizer.h"

#include "runtime/base/Error.h"
#include "runtime/tokenizer/PairMerger.h"
#include "runtime/tokenizer/TokenizerParts.h"
#include "runtime/tokenizer/Utf8.h"

namespace inf {
namespace {

constexpr size_t textLimit = size_t(1) << 30; // offsets and nodes are 32-bit

/// Remembers where in this call a piece was encoded before: words repeat. A direct-mapped table of
/// places in the text and in the output, so entries own nothing and no lock is needed.
class PieceCache {
public:
  struct Entry {
    uint32_t textBegin, idsBegin;
    uint16_t length = 0, idCount; // length 0: free
  };

  // A short text repeats too little to pay for clearing the table.
  explicit PieceCache(size_t textSize) : entries(textSize < 2048 ? 0 : slots) {}

  /// The entry for `piece`, or null when it is not to be cached.
  Entry *slot(std::string_view piece) {
    if (entries.empty() || piece.size() > longest)
      return nullptr;
    return &entries[hashBytes(piece) % slots];
  }

private:
  static constexpr size_t slots = 8192; // holds nearly all of the words of a long English text
  static constexpr size_t longest = 32; // longer pieces seldom repeat
  std::vector<Entry> entries;
};

/// One call of encode.
class Encoder {
public:
  Encoder(const TokenizerParts &tokenizerParts, std::string_view wholeText)
      : parts(tokenizerParts), text(wholeText), merger(parts), cache(wholeText.size()) {
    ids.reserve(wholeText.size() / 3); // English has about four bytes a token
  }

  std::vector<int32_t> run(SpecialTokens specials) {
    const AddedTokens &whole =
        specials == SpecialTokens::Allow ? parts.addedAndSpecial : parts.added;
    for (size_t at = 0; at < text.size();) {
      AddedTokens::Match match = whole.find(text, at);
      ordinary(text.substr(at, match.begin - at));
      if (match.id >= 0)
        ids.push_back(match.id);
      at = match.end;
    }
    return std::move(ids);
  }

private:
  void ordinary(std::string_view part) {
    while (!part.empty()) {
      size_t valid = validPrefix(part);
      split(0, part.substr(0, valid));
      part.remove_prefix(valid);
      size_t invalid = invalidPrefix(part);
      if (invalid > 0)
        piece(part.substr(0, invalid));
      part.remove_prefix(invalid);
    }
  }

  void split(size_t stage, std::string_view part) {
    if (stage == parts.patterns.size()) {
      if (!part.empty())
        piece(part);
      return;
    }
    parts.patterns[stage].split(part, scratch,
                                [&](std::string_view sub) { split(stage + 1, sub); });
  }

  void piece(std::string_view bytes) {
    PieceCache::Entry *entry = cache.slot(bytes);
    if (entry && entry->length == bytes.size() &&
        text.substr(entry->textBegin, entry->length) == bytes) {
      for (uint32_t i = 0; i < entry->idCount; ++i)
        ids.push_back(ids[entry->idsBegin + i]);
      return;
    }
    size_t before = ids.size();
    encodePiece(bytes);
    if (entry)
      *entry = {uint32_t(bytes.data() - text.data()), uint32_t(before), uint16_t(bytes.size()),
                uint16_t(ids.size() - before)};
  }

  void encodePiece(std::string_view bytes) {
    if (parts.wholePieceFirst)
      if (int32_t id = parts.tokens.findOrdinary(bytes); id >= 0)
        return ids.push_back(id);
    merger.run(bytes, ids);
  }

  const TokenizerParts &parts;
  std::string_view text;
  PairMerger merger;
  PieceCache cache;
  SplitPattern::Scratch scratch;
  std::vector<int32_t> ids;
};

} // namespace

Tokenizer::Tokenizer(std::unique_ptr<const TokenizerParts> tokenizerParts)
    : parts(std::move(tokenizerParts)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer &&) noexcept = default;
Tokenizer &Tokenizer::operator=(Tokenizer &&) noexcept = default;

std::vector<int32_t> Tokenizer::encode(std::string_view text, SpecialTokens specials) const {
  if (text.size() > textLimit)
    fail(ErrorCode::TooLong, "the text has {} bytes, expected at most {}; split it", text.size(),
         textLimit);
  return Encoder(*parts, text).run(specials);
}

std::string Tokenizer::decode(std::span<const int32_t> ids, SpecialOutput specials) const {
  std::string out;
  for (int32_t id : ids)
    if (specials == SpecialOutput::Show || !isSpecial(id))
      out += tokenBytes(id);
  return out;
}

bool Tokenizer::hasToken(int32_t id) const {
  return id >= 0 && id < vocabularySize() && parts->tokens.kind(id) != TokenKind::None;
}

std::string_view Tokenizer::tokenBytes(int32_t id) const {
  if (!hasToken(id))
    fail(ErrorCode::BadInput,
         "token id {} has no token, the vocabulary has {} ids; the ids are of another tokenizer",
         id, vocabularySize());
  return parts->tokens.bytes(id);
}

int32_t Tokenizer::vocabularySize() const { return parts->tokens.size(); }

bool Tokenizer::isSpecial(int32_t id) const {
  tokenBytes(id); // fails for an id without a token
  return parts->tokens.kind(id) == TokenKind::Special;
}

std::optional<int32_t> Tokenizer::idOf(std::string_view tokenText) const {
  if (int32_t id = parts->tokens.find(tokenText); id >= 0)
    return id;
  AddedTokens::Match match = parts->addedAndSpecial.find(tokenText, 0);
  if (match.id >= 0 && match.begin == 0 && match.end == tokenText.size())
    return match.id;
  return std::nullopt;
}

} // namespace inf
