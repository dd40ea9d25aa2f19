#include "runtime/loader/NodePlacement.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "runtime/format/Pack.h"

namespace inf {
namespace {

/// Bytes of one page by the node of the threads that read them.
using PageReaders = std::map<int, uint64_t>;

/// Threads of the same node that follow each other.
struct Team {
  unsigned first = 0, end = 0;
  int node = 0;
};

std::vector<Team> teamsOf(std::span<const int> threadNodes) {
  std::vector<Team> teams;
  for (unsigned t = 0; t < threadNodes.size(); ++t) {
    if (teams.empty() || teams.back().node != threadNodes[t])
      teams.push_back({t, t, threadNodes[t]});
    teams.back().end = t + 1;
  }
  return teams;
}

/// Whether a step cuts the weight over its threads.
bool isSliced(const PackedWeight &weight) { return isPanelLayout(weight.spec.layout); }

class Readers {
public:
  Readers(uint64_t weightsBytes, uint64_t pageSize)
      : pageBytes(pageSize), pages((weightsBytes + pageSize - 1) / pageSize) {}

  void add(uint64_t offset, uint64_t bytes, int node) {
    while (bytes > 0) {
      const uint64_t page = offset / pageBytes;
      const uint64_t part = std::min(bytes, (page + 1) * pageBytes - offset);
      pages[page][node] += part;
      offset += part;
      bytes -= part;
    }
  }

  const uint64_t pageBytes;
  std::vector<PageReaders> pages;
};

/// A stage cuts by panels, or (q, k and v) by heads: a page is much larger than the difference.
void addWeight(const PackedWeight &weight, std::span<const Team> teams, unsigned threads,
               Readers &readers) {
  const PackUnits units = packUnits(weight.decl, weight.spec);
  const uint64_t perExpert = units.count / weight.decl.experts;
  for (uint64_t expert = 0; expert < weight.decl.experts; ++expert)
    for (const Team &team : teams) {
      const uint64_t first = perExpert * team.first / threads;
      const uint64_t end = perExpert * team.end / threads;
      readers.add(weight.offset + (expert * perExpert + first) * units.unitBytes,
                  (end - first) * units.unitBytes, team.node);
    }
}

/// The node that reads most of a page; that of the page before when nobody slices it.
int nodeOf(const PageReaders &readers, int before) {
  int node = before;
  uint64_t most = 0;
  for (const auto &[candidate, bytes] : readers)
    if (bytes > most) {
      most = bytes;
      node = candidate;
    }
  return node;
}

void addRun(NodePlacement &placement, uint64_t offset, uint64_t bytes, int node) {
  if (!placement.runs.empty() && placement.runs.back().node == node)
    placement.runs.back().bytes += bytes;
  else
    placement.runs.push_back({offset, bytes, node});
}

} // namespace

NodePlacement placeWeights(const Manifest &manifest, std::span<const int> threadNodes,
                           uint64_t pageBytes) {
  NodePlacement placement;
  placement.pageBytes = pageBytes;
  const std::vector<Team> teams = teamsOf(threadNodes);
  if (teams.size() < 2)
    return placement;
  Readers readers(manifest.weightsBytes, pageBytes);
  for (const PackedWeight &weight : manifest.weights)
    if (isSliced(weight))
      addWeight(weight, teams, static_cast<unsigned>(threadNodes.size()), readers);
  int node = teams.front().node;
  for (size_t page = 0; page < readers.pages.size(); ++page) {
    const uint64_t offset = page * pageBytes;
    node = nodeOf(readers.pages[page], node);
    addRun(placement, offset, std::min(pageBytes, manifest.weightsBytes - offset), node);
    for (const auto &[reader, bytes] : readers.pages[page])
      (reader == node ? placement.localBytes : placement.remoteBytes) += bytes;
  }
  return placement;
}

std::vector<NodeCount> countNodes(std::span<const uint8_t> memory, uint64_t stepBytes) {
  constexpr size_t batch = 4096; // addresses a call
  std::map<int, uint64_t> counts;
  std::vector<const uint8_t *> addresses;
  std::vector<int> nodes;
  for (uint64_t at = 0; at < memory.size();) {
    addresses.clear();
    for (; at < memory.size() && addresses.size() < batch; at += stepBytes)
      addresses.push_back(memory.data() + at);
    nodes.assign(addresses.size(), -1);
    // Without target nodes the call moves nothing and tells where the pages are.
    if (syscall(SYS_move_pages, 0, addresses.size(), addresses.data(), nullptr, nodes.data(), 0) !=
        0)
      return {};
    for (size_t i = 0; i < addresses.size(); ++i) {
      const auto offset = static_cast<uint64_t>(addresses[i] - memory.data());
      counts[std::max(nodes[i], -1)] += std::min(stepBytes, memory.size() - offset);
    }
  }
  std::vector<NodeCount> result;
  for (const auto &[node, bytes] : counts)
    result.push_back({node, bytes});
  return result;
}

} // namespace inf
