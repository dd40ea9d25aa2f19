// The queue against the definition: look for the best pair, merge it, look again.
#include "runtime/tokenizer/PairMerger.h"

#include <random>

#include <gtest/gtest.h>

namespace inf {
namespace {

std::vector<int32_t> mergeByDefinition(const TokenizerParts &parts, std::string_view piece) {
  std::vector<int32_t> ids;
  std::vector<std::string> bytes;
  for (char c : piece) {
    ids.push_back(parts.byteIds[uint8_t(c)]);
    bytes.emplace_back(1, c);
  }
  for (;;) {
    size_t best = ids.size();
    Merge bestMerge{~0u, -1};
    for (size_t i = 0; i + 1 < ids.size(); ++i)
      if (auto merge = parts.merge(ids[i], ids[i + 1], bytes[i] + bytes[i + 1]))
        if (merge->rank < bestMerge.rank) {
          best = i;
          bestMerge = *merge;
        }
    if (best == ids.size())
      return ids;
    ids[best] = bestMerge.id;
    bytes[best] += bytes[best + 1];
    ids.erase(ids.begin() + ptrdiff_t(best) + 1);
    bytes.erase(bytes.begin() + ptrdiff_t(best) + 1);
  }
}

// Random tokens over three letters, made of tokens before them, so that merges overlap a lot.
TokenizerParts randomParts(std::mt19937 &random, bool byRank) {
  TokenizerParts parts;
  parts.mergeByRank = byRank;
  for (int byte = 0; byte < 256; ++byte)
    parts.tokens.add(byte, std::string(1, char(byte)), TokenKind::Ordinary);
  parts.merges.reserve(200);
  auto pick = [&] {
    auto choice = int32_t(random() % uint32_t(parts.tokens.size() - 253));
    return choice < 3 ? 'a' + choice : 253 + choice;
  };
  for (uint32_t rank = 0; rank < 200; ++rank) {
    int32_t left = pick(), right = pick(), id = parts.tokens.size();
    std::string both(parts.tokens.bytes(left));
    both += parts.tokens.bytes(right);
    if (both.size() > 12)
      continue;
    int32_t known = parts.tokens.find(both);
    if (known < 0)
      parts.tokens.add(id, both, TokenKind::Ordinary);
    parts.merges.add(left, right, {rank, known < 0 ? id : known});
  }
  parts.seal();
  return parts;
}

TEST(PairMerger, GivesWhatTheDefinitionGives) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", --gtest_filter=PairMerger.*");
    std::mt19937 random(seed);
    TokenizerParts parts = randomParts(random, seed % 2 == 0);
    PairMerger merger(parts);
    for (int run = 0; run < 50; ++run) {
      std::string piece(random() % 60, 'a');
      for (char &c : piece)
        c = char('a' + random() % 3);
      std::vector<int32_t> ids;
      merger.run(piece, ids);
      ASSERT_EQ(ids, mergeByDefinition(parts, piece)) << piece;
    }
  }
}

} // namespace
} // namespace inf
