// Token sequences that begin alike, as a tree: a node is a block of tokens, a path from a root a
// prefix. A root for each tenant.
//
//   root ── [ 64 tokens ] ── [ 64 tokens ] ── [ 17 tokens ]     a node that isn't full is a leaf
//                        └── [ 64 tokens ]
//
// A full node is found by its key, XXH3-128 of the parent's key and its tokens' XXH3-128, and then
// compared:
// the parent must be the same and the tokens equal. So a collision of keys costs a comparison and
// never a wrong block.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/Region.h"

namespace inf {

using PrefixNodeId = int32_t;
inline constexpr PrefixNodeId noPrefixNode = -1;

/// Allocates nothing after construction.
class PrefixTree {
public:
  /// `salt`: part of every key. `keyBits` below 128 make collisions, for tests.
  PrefixTree(uint32_t blockTokens, uint32_t capacity, std::array<uint64_t, 2> salt,
             uint32_t keyBits);

  PrefixNodeId findRoot(uint64_t tenant) const;
  /// The child with exactly these tokens, a whole block of them.
  PrefixNodeId findChild(PrefixNodeId parent, std::span<const int32_t> tokens) const;
  /// Requires freeNodes() > 0, and that there is none yet.
  PrefixNodeId addRoot(uint64_t tenant);
  PrefixNodeId addChild(PrefixNodeId parent, std::span<const int32_t> tokens);
  /// More tokens for a node that isn't full; `tokens` are all it has then.
  void grow(PrefixNodeId node, std::span<const int32_t> tokens);
  /// Requires a node without children.
  void remove(PrefixNodeId node);

  PrefixNodeId parent(PrefixNodeId node) const { return nodes[node].parent; }
  PrefixNodeId firstChild(PrefixNodeId node) const { return nodes[node].firstChild; }
  PrefixNodeId nextSibling(PrefixNodeId node) const { return nodes[node].nextSibling; }
  bool isRoot(PrefixNodeId node) const { return nodes[node].parent == noPrefixNode; }
  bool isFull(PrefixNodeId node) const { return nodes[node].length == blockTokens; }
  uint32_t start(PrefixNodeId node) const { return nodes[node].start; }
  uint32_t end(PrefixNodeId node) const { return nodes[node].start + nodes[node].length; }
  std::span<const int32_t> tokens(PrefixNodeId node) const;

  uint32_t freeNodes() const { return static_cast<uint32_t>(freeList.size()); }
  uint32_t capacity() const { return static_cast<uint32_t>(nodes.size()); }

private:
  using Key = std::array<uint64_t, 2>;
  struct Node {
    Key key{};
    uint64_t tenant = 0; ///< of a root
    PrefixNodeId parent = noPrefixNode, firstChild = noPrefixNode;
    PrefixNodeId nextSibling = noPrefixNode, previousSibling = noPrefixNode;
    PrefixNodeId nextInBucket = noPrefixNode;
    uint32_t start = 0, length = 0; ///< in tokens; a root has none
  };
  Key cut(Key key) const;
  Key rootKey(uint64_t tenant) const;
  Key keyOf(PrefixNodeId parent, std::span<const int32_t> tokens) const;
  PrefixNodeId &bucket(const Key &key) { return buckets[key[0] & (buckets.size() - 1)]; }
  PrefixNodeId bucket(const Key &key) const { return buckets[key[0] & (buckets.size() - 1)]; }
  void enter(PrefixNodeId node);
  void leave(PrefixNodeId node);
  void setTokens(PrefixNodeId node, std::span<const int32_t> tokens);

  uint32_t blockTokens, keyBits;
  Key salt;
  std::vector<Node> nodes;
  Region tokenMemory;                // int32 [nodes][blockTokens]
  std::vector<PrefixNodeId> buckets; // a power of two; full nodes and roots, by key
  std::vector<PrefixNodeId> freeList;
};

} // namespace inf
