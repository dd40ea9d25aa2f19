#include "runtime/kv/PrefixTree.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <xxhash.h>

namespace inf {
namespace {

std::array<uint64_t, 2> hashOf(const void *bytes, size_t count) {
  XXH128_hash_t hash = XXH3_128bits(bytes, count);
  return {hash.low64, hash.high64};
}

} // namespace

PrefixTree::PrefixTree(uint32_t tokensOfBlock, uint32_t capacity, std::array<uint64_t, 2> keySalt,
                       uint32_t bitsOfKey)
    : blockTokens(tokensOfBlock), keyBits(bitsOfKey), salt(keySalt), nodes(capacity),
      tokenMemory(bufferBytes(capacity, uint64_t{blockTokens} * sizeof(int32_t), "prefix index"),
                  "prefix index"),
      buckets(std::bit_ceil(capacity), noPrefixNode) {
  freeList.reserve(capacity);
  for (uint32_t i = capacity; i-- > 0;)
    freeList.push_back(static_cast<PrefixNodeId>(i));
}

PrefixTree::Key PrefixTree::cut(Key key) const {
  for (uint32_t word = 0; word < 2; ++word) {
    uint32_t bits = keyBits > 64 * word ? std::min(64u, keyBits - 64 * word) : 0;
    if (bits < 64)
      key[word] &= (uint64_t{1} << bits) - 1;
  }
  return key;
}

PrefixTree::Key PrefixTree::rootKey(uint64_t tenant) const {
  const std::array<uint64_t, 3> all = {salt[0], salt[1], tenant};
  return cut(hashOf(all.data(), sizeof all));
}

PrefixTree::Key PrefixTree::keyOf(PrefixNodeId parent, std::span<const int32_t> tokens) const {
  const std::array<Key, 2> both = {nodes[parent].key, hashOf(tokens.data(), tokens.size_bytes())};
  return cut(hashOf(both.data(), sizeof both));
}

PrefixNodeId PrefixTree::findRoot(uint64_t tenant) const {
  for (PrefixNodeId node = bucket(rootKey(tenant)); node >= 0; node = nodes[node].nextInBucket)
    if (isRoot(node) && nodes[node].tenant == tenant)
      return node;
  return noPrefixNode;
}

PrefixNodeId PrefixTree::findChild(PrefixNodeId parent, std::span<const int32_t> wanted) const {
  Key key = keyOf(parent, wanted);
  for (PrefixNodeId node = bucket(key); node >= 0; node = nodes[node].nextInBucket)
    if (nodes[node].parent == parent && nodes[node].key == key &&
        std::ranges::equal(tokens(node), wanted))
      return node;
  return noPrefixNode;
}

PrefixNodeId PrefixTree::addRoot(uint64_t tenant) {
  PrefixNodeId root = freeList.back();
  freeList.pop_back();
  nodes[root].key = rootKey(tenant);
  nodes[root].tenant = tenant;
  enter(root);
  return root;
}

PrefixNodeId PrefixTree::addChild(PrefixNodeId parent, std::span<const int32_t> newTokens) {
  PrefixNodeId child = freeList.back();
  freeList.pop_back();
  Node &node = nodes[child];
  node.parent = parent;
  node.start = end(parent);
  node.nextSibling = nodes[parent].firstChild;
  if (node.nextSibling >= 0)
    nodes[node.nextSibling].previousSibling = child;
  nodes[parent].firstChild = child;
  setTokens(child, newTokens);
  return child;
}

void PrefixTree::grow(PrefixNodeId node, std::span<const int32_t> allTokens) {
  setTokens(node, allTokens);
}

void PrefixTree::setTokens(PrefixNodeId node, std::span<const int32_t> all) {
  std::memcpy(tokenMemory.as<int32_t>() + uint64_t(node) * blockTokens, all.data(),
              all.size_bytes());
  nodes[node].length = static_cast<uint32_t>(all.size());
  if (!isFull(node))
    return;
  nodes[node].key = keyOf(nodes[node].parent, all);
  enter(node);
}

void PrefixTree::remove(PrefixNodeId id) {
  const Node &node = nodes[id];
  if (isRoot(id) || isFull(id))
    leave(id);
  if (node.nextSibling >= 0)
    nodes[node.nextSibling].previousSibling = node.previousSibling;
  if (node.previousSibling >= 0)
    nodes[node.previousSibling].nextSibling = node.nextSibling;
  else if (!isRoot(id))
    nodes[node.parent].firstChild = node.nextSibling;
  nodes[id] = {};
  freeList.push_back(id);
}

void PrefixTree::enter(PrefixNodeId node) {
  PrefixNodeId &head = bucket(nodes[node].key);
  nodes[node].nextInBucket = head;
  head = node;
}

void PrefixTree::leave(PrefixNodeId node) {
  PrefixNodeId *link = &bucket(nodes[node].key);
  while (*link != node)
    link = &nodes[*link].nextInBucket;
  *link = nodes[node].nextInBucket;
}

std::span<const int32_t> PrefixTree::tokens(PrefixNodeId node) const {
  return {tokenMemory.as<const int32_t>() + uint64_t(node) * blockTokens, nodes[node].length};
}

} // namespace inf
