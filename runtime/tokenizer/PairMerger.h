// Byte-pair encoding of one piece.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/TokenizerParts.h"

namespace inf {

/// Merges the bytes of a piece, or its characters, until no two neighbours merge: always the pair
/// of lowest rank, the leftmost of equals (Sennrich et al. 2016, section 3.2). O(n log n) for n
/// bytes. Keeps its working memory from piece to piece; one object per thread.
class PairMerger {
public:
  explicit PairMerger(const TokenizerParts &tokenizerParts) : parts(tokenizerParts) {}

  /// Appends the tokens of `piece` (at most 2^31 bytes) to `ids`. Fails with BadInput for a
  /// character that has no token where nothing stands for such.
  void run(std::string_view piece, std::vector<int32_t> &ids);

private:
  static constexpr int32_t swallowed = -1; ///< merged into its left neighbour, or inside of a node
  static constexpr int32_t noToken = -2;   ///< a character without a token, which may merge yet

  /// A token so far. It starts at the byte of its own index, so its right neighbour is node `end`.
  struct Node {
    uint32_t end;  ///< one past its last byte
    uint32_t prev; ///< index of the left neighbour; itself for the first
    int32_t id;
  };
  struct Candidate {
    uint32_t rank;
    uint32_t left; ///< node
    uint32_t end;  ///< one past the last byte of the pair: tells whether it is still there
    int32_t id;    ///< what the pair would become
  };

  static bool later(const Candidate &a, const Candidate &b) {
    return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
  }
  void startFromBytes();
  void startFromCharacters();
  uint32_t append(uint32_t begin, uint32_t end, uint32_t prev, int32_t id);
  uint32_t appendUnknown(uint32_t begin, uint32_t end, uint32_t prev);
  void appendIds(std::string_view character, std::vector<int32_t> &ids) const;
  bool candidateAt(uint32_t left, Candidate &candidate) const;
  void push(uint32_t left);
  bool stillThere(const Candidate &candidate) const;
  void apply(const Candidate &candidate);

  const TokenizerParts &parts;
  std::string_view text;
  std::vector<Node> nodes;      ///< [bytes of the piece]
  std::vector<Candidate> queue; ///< a heap, lowest rank on top; stale entries are skipped
};

} // namespace inf
