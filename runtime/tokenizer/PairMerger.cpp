#include "runtime/tokenizer/PairMerger.h"

#include <algorithm>
#include <optional>

namespace inf {

void PairMerger::run(std::string_view piece, std::vector<int32_t> &ids) {
  text = piece;
  nodes.clear();
  queue.clear();
  uint32_t size = uint32_t(piece.size());
  for (uint32_t i = 0; i < size; ++i)
    nodes.push_back({i + 1, i == 0 ? 0 : i - 1, parts.byteIds[uint8_t(piece[i])]});
  for (uint32_t i = 0; i + 1 < size; ++i)
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
  return left.id >= 0 && left.end < text.size() && nodes[left.end].end == candidate.end;
}

void PairMerger::apply(const Candidate &candidate) {
  Node &left = nodes[candidate.left];
  nodes[left.end].id = -1;
  left.end = candidate.end;
  left.id = candidate.id;
  if (left.end < text.size())
    nodes[left.end].prev = candidate.left;
  push(candidate.left);
  if (candidate.left > 0)
    push(left.prev);
}

} // namespace inf
