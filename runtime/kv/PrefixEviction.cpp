// Of PrefixIndex: checkpoints, and what is evicted.
#include <algorithm>

#include "runtime/base/Error.h"
#include "runtime/kv/PrefixIndex.h"

namespace inf {

// Checkpoints

template <typename Action>
void PrefixIndex::eachSlot(PrefixNodeId node, uint32_t g, Checkpoint range, Action action) {
  const GroupBlocks &group = groups[g];
  uint32_t first = group.firstKept(range.low) / group.blockTokens();
  for (uint32_t index = group.endBlock(range.high); index-- > first;) {
    node = ancestorAt(node, index * group.blockTokens());
    action(slot(node, g, index), index);
  }
}

void PrefixIndex::checkpoint(PrefixBranch &branch, uint32_t sequence,
                             std::span<const int32_t> tail) {
  PrefixNodeId node = tail.empty() ? branch.node : addTail(branch, sequence, tail);
  if (node == noPrefixNode)
    return;
  auto position = static_cast<uint32_t>(branch.indexed + tail.size());
  bool any = false;
  for (uint32_t g = 0; g < groups.size(); ++g) {
    any |= isWindow(g);
    if (isWindow(g) && !groups[g].canTruncate(sequence, position))
      return;
  }
  if (!any)
    return;
  Checkpoint before = checkpoints[node], after = {position, position};
  if (before.high != 0)
    after = {std::min(before.low, position), std::max(before.high, position)};
  claim(node, after);
  if (before.high != 0)
    unclaim(node, before);
  checkpoints[node] = after;
  for (uint32_t g = 0; g < groups.size(); ++g)
    if (isWindow(g))
      keepWindow(node, g, sequence, position);
  checkpointQueue.use(node);
  checkpointQueue.offer(node, worthOfCheckpoint(node));
  settle(node);
}

void PrefixIndex::claim(PrefixNodeId node, Checkpoint range) {
  for (uint32_t g = 0; g < groups.size(); ++g)
    if (isWindow(g))
      eachSlot(node, g, range, [](Slot &claimed, uint32_t) { ++claimed.claims; });
}

void PrefixIndex::unclaim(PrefixNodeId node, Checkpoint range) {
  for (uint32_t g = 0; g < groups.size(); ++g)
    if (isWindow(g))
      eachSlot(node, g, range, [&](Slot &claimed, uint32_t) {
        if (--claimed.claims == 0)
          drop(g, claimed);
      });
}

/// Takes the sequence's blocks where the node's path has none, or fewer tokens of them.
void PrefixIndex::keepWindow(PrefixNodeId node, uint32_t g, uint32_t sequence, uint32_t position) {
  GroupBlocks &group = groups[g];
  eachSlot(node, g, {position, position}, [&](Slot &kept, uint32_t index) {
    GroupBlocks::Held held = group.held(sequence);
    uint32_t valid = std::min(position - index * group.blockTokens(), group.blockTokens());
    if (index < held.first || index >= held.end || (kept.block >= 0 && kept.valid >= valid))
      return;
    int32_t block = group.block(sequence, index);
    group.pool.keep(block);
    if (kept.block >= 0)
      group.pool.unkeep(kept.block);
    kept.block = block;
    kept.valid = valid;
  });
}

void PrefixIndex::dropCheckpoint(PrefixNodeId node) {
  if (checkpoints[node].high == 0)
    return;
  checkpointQueue.forget(node);
  unclaim(node, checkpoints[node]);
  checkpoints[node] = {};
}

/// Tokens to compute again from the checkpoint before it, per byte that only it keeps.
double PrefixIndex::worthOfCheckpoint(PrefixNodeId node) const {
  PrefixNodeId before = tree.parent(node);
  while (!tree.isRoot(before) && checkpoints[before].high == 0)
    before = tree.parent(before);
  uint32_t from = tree.isRoot(before) ? 0 : checkpoints[before].high;
  double bytes = 1;
  for (uint32_t g = 0; g < groups.size(); ++g)
    if (isWindow(g))
      const_cast<PrefixIndex *>(this)->eachSlot(
          node, g, checkpoints[node], [&](const Slot &claimed, uint32_t) {
            if (claimed.claims == 1)
              bytes += static_cast<double>(groups[g].pool.blockBytes());
          });
  double tokens = checkpoints[node].high - from;
  return tokens * (1 + positionCost * (from + tokens / 2)) / bytes;
}

double PrefixIndex::worthOfLeaf(PrefixNodeId node) const {
  double bytes = 1;
  for (uint32_t g = 0; g < groups.size(); ++g)
    for (uint32_t j = 0; j < slotsOfGroup(g); ++j)
      if (slots[uint64_t(node) * slotsPerNode + firstSlot[g] + j].block >= 0)
        bytes += static_cast<double>(groups[g].pool.blockBytes());
  double tokens = tree.end(node) - tree.start(node);
  return tokens * (1 + positionCost * (tree.start(node) + tokens / 2)) / bytes;
}

// Running sequences

void PrefixIndex::pin(PrefixNodeId node) {
  if (node == noPrefixNode)
    return;
  ++pins[node];
  leaves.withdraw(node);
}

void PrefixIndex::unpin(PrefixNodeId node) {
  if (node == noPrefixNode)
    return;
  --pins[node];
  settle(node);
}

void PrefixIndex::retreat(PrefixBranch &branch, uint32_t position) {
  unpin(branch.tail); // the sequence gets a copy of its block
  branch.tail = noPrefixNode;
  while (branch.node != noPrefixNode && tree.end(branch.node) > position) {
    PrefixNodeId parent = tree.parent(branch.node);
    if (tree.isRoot(parent))
      parent = noPrefixNode;
    pin(parent);
    unpin(branch.node);
    branch.node = parent;
  }
  branch.indexed = branch.node == noPrefixNode ? 0 : tree.end(branch.node);
}

void PrefixIndex::leave(PrefixBranch &branch) {
  unpin(branch.tail);
  unpin(branch.node);
  branch = {};
}

// Evicting

void PrefixIndex::settle(PrefixNodeId node) {
  while (node != noPrefixNode && tree.firstChild(node) == noPrefixNode && pins[node] == 0) {
    bool dead = tree.isRoot(node) || (needsCheckpoints && checkpoints[node].high == 0);
    if (!dead)
      return leaves.offer(node, worthOfLeaf(node));
    PrefixNodeId parent = tree.parent(node);
    erase(node);
    node = parent;
  }
  if (node != noPrefixNode)
    leaves.withdraw(node);
}

void PrefixIndex::erase(PrefixNodeId node) {
  dropCheckpoint(node);
  leaves.forget(node);
  for (uint32_t g = 0; g < groups.size(); ++g)
    for (uint32_t j = 0; j < slotsOfGroup(g); ++j)
      drop(g, slots[uint64_t(node) * slotsPerNode + firstSlot[g] + j]);
  tree.remove(node);
}

void PrefixIndex::drop(uint32_t g, Slot &held) {
  if (held.block >= 0) {
    uint32_t before = groups[g].pool.freeBlocks();
    groups[g].pool.unkeep(held.block);
    evicted += groups[g].pool.freeBlocks() - before;
  }
  held.block = -1;
  held.valid = 0;
}

void PrefixIndex::makeRoom(uint32_t g, uint64_t blocks) {
  while (groups[g].pool.freeBlocks() < blocks) {
    EvictionQueue &queue = isWindow(g) ? checkpointQueue : leaves;
    if (queue.empty())
      fail(ErrorCode::Internal, "KV group {} has {} free blocks, {} are needed, and none to evict",
           g, groups[g].pool.freeBlocks(), blocks);
    auto node = static_cast<PrefixNodeId>(queue.victim());
    if (isWindow(g)) {
      dropCheckpoint(node);
      settle(node);
    } else {
      PrefixNodeId parent = tree.parent(node);
      erase(node);
      settle(parent);
    }
  }
}

void PrefixIndex::clear() {
  uint64_t before = evicted;
  while (!leaves.empty()) {
    auto node = static_cast<PrefixNodeId>(leaves.victim());
    PrefixNodeId parent = tree.parent(node);
    erase(node);
    settle(parent);
  }
  evicted = before; // nobody needed the memory
}

} // namespace inf
