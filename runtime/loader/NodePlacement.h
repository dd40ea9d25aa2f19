// Which NUMA node each page of copied weights should lie on.
//
// A step cuts every product over its threads the same way each time: thread t of n reads the units
// (panels of 16 outputs) [count * t / n, count * (t + 1) / n) of every matrix, of every expert. So
// on a machine with several nodes each page has one right node: that of the threads that read it.
//
//   threads      0 .. 7 on node 0          8 .. 15 on node 1
//   a matrix   [ panels of threads 0-7   | panels of threads 8-15   ]
//   pages      | node 0 | node 0 | both  | node 1 | node 1 |           the larger part decides
//
// What is read by rows (embeddings) or by all (norms, biases) has no right node; it is little.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/format/Manifest.h"

namespace inf {

/// A run of pages for one node.
struct NodeRun {
  uint64_t offset = 0, bytes = 0; ///< in the weights region
  int node = 0;
  bool operator==(const NodeRun &) const = default;
};

struct NodePlacement {
  uint64_t pageBytes = 0;
  std::vector<NodeRun> runs; ///< ascending, gapless, from 0 to the end of the weights; whole pages
                             ///< but the last; empty: one node, nothing to place
  uint64_t localBytes = 0;   ///< read in a step of all experts by threads of the page's node
  uint64_t remoteBytes = 0;  ///< by threads of another: pages that two nodes share
};

/// \param threadNodes the node of each thread of the steps. [threads]
/// \param pageBytes of the memory the weights will lie in, > 0.
NodePlacement placeWeights(const Manifest &manifest, std::span<const int> threadNodes,
                           uint64_t pageBytes);

/// On which node the pages of `memory` lie.
struct NodeCount {
  int node = 0; ///< -1: not in memory yet, or not known
  uint64_t bytes = 0;
};
/// Asks the kernel (move_pages) for one address of every `stepBytes`; ascending nodes. Empty when
/// the kernel has no NUMA support.
std::vector<NodeCount> countNodes(std::span<const uint8_t> memory, uint64_t stepBytes);

} // namespace inf
