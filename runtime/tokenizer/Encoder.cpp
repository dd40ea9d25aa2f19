#include "runtime/tokenizer/Encoder.h"

#include <utility>

namespace inf {
namespace {

const AddedTokens &allowed(const WholeTokens &whole, SpecialTokens specials) {
  return specials == SpecialTokens::Allow ? whole.anyAndSpecial : whole.any;
}

/// Calls `part(text, begin)` for what lies between the tokens found and `token(id)` for each.
template <typename Part, typename Token>
void cutOut(const AddedTokens &whole, std::string_view text, Part &&part, Token &&token) {
  for (size_t at = 0; at < text.size();) {
    AddedTokens::Match match = whole.find(text, at);
    if (match.begin > at)
      part(text.substr(at, match.begin - at), at);
    if (match.id >= 0)
      token(match.id);
    at = match.end;
  }
}

} // namespace

Encoder::Encoder(const TokenizerParts &tokenizerParts, size_t textSize)
    : parts(tokenizerParts), merger(parts), cache(textSize) {
  ids.reserve(textSize / 3 + parts.before.size() + parts.after.size()); // English: 4 bytes a token
}

std::vector<int32_t> Encoder::run(std::string_view text, SpecialTokens specials, TextEnds ends) {
  if (ends != TextEnds::Bare)
    ids.insert(ids.end(), parts.before.begin(), parts.before.end());
  cutOut(
      allowed(parts.raw, specials), text,
      [&](std::string_view part, size_t begin) { section(part, specials, begin == 0); },
      [&](int32_t id) { ids.push_back(id); });
  if (ends == TextEnds::Marked)
    ids.insert(ids.end(), parts.after.begin(), parts.after.end());
  return std::move(ids);
}

void Encoder::section(std::string_view part, SpecialTokens specials, bool atStart) {
  if (parts.normalizer.empty())
    return words(part, atStart);
  std::string normal = parts.normalizer.run(part, textLimit, scratch);
  cutOut(
      allowed(parts.normalized, specials), normal,
      [&](std::string_view sub, size_t begin) { words(sub, atStart && begin == 0); },
      [&](int32_t id) { ids.push_back(id); });
}

void Encoder::words(std::string_view part, bool atStart) {
  auto emit = [&](std::string_view bytes) { piece(bytes); };
  parts.preTokenizer.run(part, atStart, scratch, emit);
}

void Encoder::piece(std::string_view bytes) {
  if (parts.wholePieceFirst)
    if (int32_t id = parts.tokens.findOrdinary(bytes); id >= 0)
      return ids.push_back(id);
  parts.cuts.forEach(bytes, [&](std::string_view part) { merge(part); });
}

void Encoder::merge(std::string_view bytes) {
  PieceCache::Entry *entry = cache.slot(bytes);
  if (entry && PieceCache::holds(*entry, bytes)) {
    for (uint32_t i = 0; i < entry->idCount; ++i)
      ids.push_back(ids[entry->idsBegin + i]);
    return;
  }
  size_t before = ids.size();
  merger.run(bytes, ids);
  if (entry)
    PieceCache::fill(*entry, bytes, before, ids.size() - before);
}

} // namespace inf
