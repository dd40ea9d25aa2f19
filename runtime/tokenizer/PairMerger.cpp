#include "runtime/tokenizer/PairMerger.h"

#include <algorithm>
#include <optional>

#include "runtime/base/Error.h"
#include "runtime/tokenizer/Quote.h"
#include "runtime/tokenizer/Utf8.h"

namespace inf {

void PairMerger::startFromBytes() {
  uint32_t size = uint32_t(text.size());
  for (uint32_t i = 0; i < size; ++i)
    nodes.push_back({i + 1, i == 0 ? 0 : i - 1, parts.byteIds[uint8_t(text[i])]});
}

/// Enters a node and gives its index back.
uint32_t PairMerger::append(uint32_t begin, uint32_t end, uint32_t prev, int32_t id) {
  nodes[begin] = {end, prev, id};
  return begin;
}

void PairMerger::startFromCharacters() {
  nodes.resize(text.size(), Node{0, 0, swallowed});
  uint32_t last = 0;
  for (uint32_t at = 0; at < text.size();) {
    Utf8Sequence sequence = firstSequence(text.substr(at, 4));
    uint32_t end = at + uint32_t(sequence.kind == Utf8Kind::Valid ? sequence.length : 1);
    int32_t id = parts.tokens.findOrdinary(text.substr(at, end - at));
    last = id >= 0 ? append(at, end, last, id) : appendUnknown(at, end, last);
    at = end;
  }
}

/// By rank, whole characters may merge though they have no token; by pairs, their bytes may.
uint32_t PairMerger::appendUnknown(uint32_t begin, uint32_t end, uint32_t prev) {
  std::string_view character = text.substr(begin, end - begin);
  if (parts.mergeByRank)
    return append(begin, end, prev, noToken);
  if (parts.hasBytes(character)) {
    for (uint32_t at = begin; at < end; ++at)
      prev = append(at, at + 1, prev, parts.byteIds[uint8_t(text[at])]);
    return prev;
  }
  if (parts.unknown < 0)
    fail(ErrorCode::BadInput,
         "the character {} has no token, and the tokenizer has none for unknown ones; take it out "
         "of the text",
         quote(character));
  if (parts.fuseUnknown && begin > 0 && nodes[prev].id == parts.unknown) {
    nodes[prev].end = end;
    return prev;
  }
  return append(begin, end, prev, parts.unknown);
}

/// What a character gives that neither had a token nor merged.
void PairMerger::appendIds(std::string_view character, std::vector<int32_t> &ids) const {
  if (parts.hasBytes(character)) {
    for (char c : character)
      ids.push_back(parts.byteIds[uint8_t(c)]);
    return;
  }
  if (parts.unknown < 0)
    fail(ErrorCode::BadInput,
         "the character {} has no token, and the tokenizer has none for unknown ones; take it out "
         "of the text",
         quote(character));
  ids.push_back(parts.unknown);
}

void PairMerger::run(std::string_view piece, std::vector<int32_t> &ids) {
  text = piece;
  nodes.clear();
  queue.clear();
  if (parts.byteLevel)
    startFromBytes();
  else
    startFromCharacters();
  uint32_t size = uint32_t(piece.size());
  for (uint32_t i = 0; i < size; i = nodes[i].end)
    if (Candidate candidate; candidateAt(i, candidate))
      queue.push_back(candidate);
  std::make_heap(queue.begin(), queue.end(), later);

  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(), later);
    Candidate best = queue.back();
    queue.pop_back();
    if (stillThere(best))
      apply(best);
  }
  for (uint32_t i = 0; i < size; i = nodes[i].end)
    if (nodes[i].id == noToken)
      appendIds(piece.substr(i, nodes[i].end - i), ids);
    else
      ids.push_back(nodes[i].id);
}

bool PairMerger::candidateAt(uint32_t left, Candidate &candidate) const {
  uint32_t right = nodes[left].end;
  if (right == text.size())
    return false;
  uint32_t end = nodes[right].end;
  std::optional<Merge> merge =
      parts.merge(nodes[left].id, nodes[right].id, text.substr(left, end - left));
  if (!merge)
    return false;
  candidate = {merge->rank, left, end, merge->id};
  return true;
}

void PairMerger::push(uint32_t left) {
  Candidate candidate;
  if (!candidateAt(left, candidate))
    return;
  queue.push_back(candidate);
  std::push_heap(queue.begin(), queue.end(), later);
}

/// Nodes only grow, and a left node grows by swallowing the whole right one; so the pair is
/// unharmed exactly when the left node lives and its neighbour still ends where it did.
bool PairMerger::stillThere(const Candidate &candidate) const {
  const Node &left = nodes[candidate.left];
  return left.id != swallowed && left.end < text.size() && nodes[left.end].end == candidate.end;
}

void PairMerger::apply(const Candidate &candidate) {
  Node &left = nodes[candidate.left];
  nodes[left.end].id = swallowed;
  left.end = candidate.end;
  left.id = candidate.id;
  if (left.end < text.size())
    nodes[left.end].prev = candidate.left;
  push(candidate.left);
  if (candidate.left > 0)
    push(left.prev);
}

} // namespace inf
