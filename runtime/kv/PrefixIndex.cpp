#include "runtime/kv/PrefixIndex.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/Error.h"

namespace inf {
namespace {

uint32_t leastCommonMultiple(const std::vector<GroupBlocks> &groups) {
  constexpr uint64_t most = 8192; // beyond it, hits would be rare
  uint64_t all = 1;
  for (const GroupBlocks &group : groups) {
    all = std::lcm(all, uint64_t{group.blockTokens()});
    if (all > most)
      fail(ErrorCode::Usage,
           "prefixes can't be kept: the model's KV groups have blocks whose least common multiple "
           "is beyond {} tokens. Run without.",
           most);
  }
  return static_cast<uint32_t>(all);
}

/// A node holds a block of every full group, and has a root at most that nobody else has. In models
/// without such a group nodes cost no blocks; some multiple then.
uint32_t nodeCapacity(const std::vector<GroupBlocks> &groups) {
  uint64_t most = 0, full = UINT64_MAX;
  for (const GroupBlocks &group : groups) {
    most = std::max<uint64_t>(most, group.pool.blocks());
    if (group.window() == 0)
      full = std::min<uint64_t>(full, group.pool.blocks());
  }
  constexpr uint64_t nameable = INT32_MAX / 2;
  return static_cast<uint32_t>(std::min(nameable, full == UINT64_MAX ? 16 * most : 2 * full) + 2);
}

uint32_t commonLength(std::span<const int32_t> a, std::span<const int32_t> b) {
  size_t count = std::min(a.size(), b.size());
  return static_cast<uint32_t>(std::mismatch(a.begin(), a.begin() + count, b.begin()).first -
                               a.begin());
}

} // namespace

PrefixIndex::PrefixIndex(std::vector<GroupBlocks> &kvGroups, const KvCacheOptions &options)
    : groups(kvGroups), positionCost(options.positionCost),
      nodeTokens(leastCommonMultiple(kvGroups)),
      needsCheckpoints(std::any_of(groups.begin(), groups.end(),
                                   [](const GroupBlocks &group) { return group.window() > 1; })),
      slotsPerNode(0), tree(nodeTokens, nodeCapacity(kvGroups), options.modelSalt, options.keyBits),
      pins(tree.capacity()), checkpoints(tree.capacity()),
      leaves(options.eviction, tree.capacity()),
      checkpointQueue(options.eviction, tree.capacity()) {
  for (uint32_t g = 0; g < groups.size(); ++g) {
    firstSlot.push_back(slotsPerNode);
    slotsPerNode += slotsOfGroup(g);
  }
  slots.resize(uint64_t{tree.capacity()} * slotsPerNode);
}

const PrefixIndex::Slot &PrefixIndex::slot(PrefixNodeId node, uint32_t group,
                                           uint32_t blockIndex) const {
  uint32_t within = blockIndex - tree.start(node) / groups[group].blockTokens();
  return slots[uint64_t(node) * slotsPerNode + firstSlot[group] + within];
}

PrefixIndex::Slot &PrefixIndex::slot(PrefixNodeId node, uint32_t group, uint32_t blockIndex) {
  return const_cast<Slot &>(std::as_const(*this).slot(node, group, blockIndex));
}

PrefixNodeId PrefixIndex::ancestorAt(PrefixNodeId node, uint32_t position) const {
  while (tree.start(node) > position)
    node = tree.parent(node);
  return node;
}

// Finding

PrefixPlace PrefixIndex::find(std::span<const int32_t> tokens, uint64_t tenant) const {
  PrefixNodeId node = tree.findRoot(tenant);
  if (node == noPrefixNode)
    return {};
  while (tree.end(node) + nodeTokens <= tokens.size()) {
    PrefixNodeId child = tree.findChild(node, tokens.subspan(tree.end(node), nodeTokens));
    if (child == noPrefixNode)
      break;
    node = child;
  }
  // Upwards: at each level, of all blocks that begin alike, the one that reaches furthest.
  for (; node != noPrefixNode; node = tree.parent(node)) {
    PrefixPlace best = bestOfChildren(node, tokens.subspan(tree.end(node)));
    if (best.position != 0)
      return best;
  }
  return {};
}

PrefixPlace PrefixIndex::bestOfChildren(PrefixNodeId parent,
                                        std::span<const int32_t> tokens) const {
  PrefixPlace best;
  for (PrefixNodeId child = tree.firstChild(parent); child != noPrefixNode;
       child = tree.nextSibling(child)) {
    uint32_t common = commonLength(tree.tokens(child), tokens);
    if (tree.start(child) + common <= best.position || common == 0)
      continue;
    uint32_t position = attachable(child, tree.start(child) + common);
    if (position > best.position)
      best = {child, position};
  }
  return best;
}

/// The furthest position of the node, up to `position`, that has all it needs of window groups; 0:
/// none.
uint32_t PrefixIndex::attachable(PrefixNodeId node, uint32_t position) const {
  while (position > tree.start(node)) {
    uint32_t lowest = position;
    for (uint32_t g = 0; g < groups.size(); ++g)
      if (isWindow(g) && lowest > tree.start(node))
        lowest = attachable(node, g, lowest);
    if (lowest == position)
      return position;
    position = lowest;
  }
  return 0;
}

/// `position`, or one below it that might do for this group: what is missing here is missing for
/// all between.
uint32_t PrefixIndex::attachable(PrefixNodeId node, uint32_t g, uint32_t position) const {
  const GroupBlocks &group = groups[g];
  uint32_t tokens = group.blockTokens(), first = group.firstNeeded(position);
  for (uint32_t end = position; end > first;) {
    uint32_t index = (end - 1) / tokens;
    node = ancestorAt(node, index * tokens);
    const Slot &held = slot(node, g, index);
    if (held.block < 0 || held.valid < end - index * tokens)
      return index * tokens + (held.block < 0 ? 0 : held.valid);
    end = index * tokens;
  }
  return position;
}

// Beginning

bool PrefixIndex::begin(PrefixBranch &branch, uint32_t sequence, PrefixPlace place) {
  bool whole = tree.end(place.node) == place.position && tree.isFull(place.node);
  PrefixNodeId node = whole ? place.node : tree.parent(place.node);
  if (tree.isRoot(node))
    node = noPrefixNode;
  use(place);
  pin(node);
  for (uint32_t g = 0; g < groups.size(); ++g)
    share(g, sequence, place);
  if (!copyTails(sequence, place.position)) {
    for (GroupBlocks &group : groups)
      group.truncate(sequence, 0);
    unpin(node);
    return false;
  }
  branch.node = node;
  branch.tail = noPrefixNode;
  branch.indexed = node == noPrefixNode ? 0 : tree.end(node);
  return true;
}

void PrefixIndex::share(uint32_t g, uint32_t sequence, PrefixPlace place) {
  GroupBlocks &group = groups[g];
  uint32_t tokens = group.blockTokens(), first = isWindow(g) ? group.firstKept(place.position) : 0;
  group.begin(sequence, group.endBlock(place.position));
  PrefixNodeId node = place.node;
  for (uint32_t end = place.position; end > first;) {
    uint32_t index = (end - 1) / tokens;
    node = ancestorAt(node, index * tokens);
    const Slot &held = slot(node, g, index);
    if (held.block < 0 || held.valid < end - index * tokens)
      return; // beyond what the next query sees: find() has looked
    group.shareBefore(sequence, held.block);
    end = index * tokens;
  }
}

/// The sequence writes on from `position`: where that is within a block, into one of its own.
bool PrefixIndex::copyTails(uint32_t sequence, uint32_t position) {
  auto needsCopy = [&](const GroupBlocks &group) {
    return position % group.blockTokens() != 0 && group.isShared(sequence, position);
  };
  for (const GroupBlocks &group : groups)
    if (needsCopy(group) && group.pool.freeBlocks() + group.pool.cachedBlocks() == 0)
      return false;
  for (uint32_t g = 0; g < groups.size(); ++g)
    if (needsCopy(groups[g])) {
      makeRoom(g, 1);
      groups[g].makeOwn(sequence, position / groups[g].blockTokens());
      ++copied;
    }
  return true;
}

void PrefixIndex::use(PrefixPlace place) {
  if (checkpoints[place.node].high != 0)
    checkpointQueue.use(place.node);
  for (PrefixNodeId node = place.node; !tree.isRoot(node); node = tree.parent(node))
    leaves.use(node);
}

// Adding

/// Makes sure that a block and a root for it find nodes.
bool PrefixIndex::haveNodes() {
  while (tree.freeNodes() < 2) {
    if (leaves.empty())
      return false;
    PrefixNodeId node = leaves.victim(), parent = tree.parent(node);
    erase(node);
    settle(parent);
  }
  return true;
}

PrefixNodeId PrefixIndex::parentFor(const PrefixBranch &branch) {
  if (branch.node != noPrefixNode)
    return branch.node;
  PrefixNodeId root = tree.findRoot(branch.tenant);
  return root != noPrefixNode ? root : tree.addRoot(branch.tenant);
}

bool PrefixIndex::addBlock(PrefixBranch &branch, uint32_t sequence,
                           std::span<const int32_t> tokens) {
  if (!haveNodes())
    return false;
  PrefixNodeId parent = parentFor(branch);
  PrefixNodeId node = tree.findChild(parent, tokens);
  if (node != noPrefixNode) {
    adopt(node, sequence);
  } else {
    if (branch.tail != noPrefixNode)
      tree.grow(node = branch.tail, tokens);
    else
      node = tree.addChild(parent, tokens);
    fill(node, sequence);
  }
  leaves.use(node);
  pin(node);
  unpin(branch.tail);
  unpin(branch.node);
  branch.node = node;
  branch.tail = noPrefixNode;
  branch.indexed = tree.end(node);
  return true;
}

/// Gives the node the sequence's blocks.
void PrefixIndex::fill(PrefixNodeId node, uint32_t sequence) {
  uint32_t length = tree.end(node) - tree.start(node);
  for (uint32_t g = 0; g < groups.size(); ++g) {
    uint32_t tokens = groups[g].blockTokens(), first = tree.start(node) / tokens;
    for (uint32_t j = 0; j * tokens < length; ++j) {
      Slot &held = slot(node, g, first + j);
      int32_t block = groups[g].block(sequence, first + j);
      if (!isWindow(g) && held.block < 0) {
        groups[g].pool.keep(block);
        held.block = block;
      }
      if (held.block >= 0 && held.block == block)
        held.valid = std::min(length - j * tokens, tokens);
    }
  }
}

/// Gives the sequence the node's blocks, which hold the same to the bit.
void PrefixIndex::adopt(PrefixNodeId node, uint32_t sequence) {
  for (uint32_t g = 0; g < groups.size(); ++g) {
    uint32_t first = tree.start(node) / groups[g].blockTokens();
    for (uint32_t j = 0; !isWindow(g) && j < slotsOfGroup(g); ++j)
      if (int32_t block = slot(node, g, first + j).block;
          block != groups[g].block(sequence, first + j))
        groups[g].replace(sequence, first + j, block);
  }
}

/// A child of the branch's end that begins with all these tokens.
PrefixNodeId PrefixIndex::covering(const PrefixBranch &branch,
                                   std::span<const int32_t> tokens) const {
  PrefixNodeId parent = branch.node != noPrefixNode ? branch.node : tree.findRoot(branch.tenant);
  if (parent == noPrefixNode)
    return noPrefixNode;
  for (PrefixNodeId child = tree.firstChild(parent); child != noPrefixNode;
       child = tree.nextSibling(child))
    if (commonLength(tree.tokens(child), tokens) == tokens.size())
      return child;
  return noPrefixNode;
}

/// The node that holds the tokens, none when there is no room for one.
PrefixNodeId PrefixIndex::addTail(PrefixBranch &branch, uint32_t sequence,
                                  std::span<const int32_t> tokens) {
  if (branch.tail != noPrefixNode) {
    if (tree.tokens(branch.tail).size() < tokens.size())
      tree.grow(branch.tail, tokens);
    fill(branch.tail, sequence);
    return branch.tail;
  }
  if (PrefixNodeId node = covering(branch, tokens); node != noPrefixNode)
    return node;
  if (!haveNodes())
    return noPrefixNode;
  branch.tail = tree.addChild(parentFor(branch), tokens);
  fill(branch.tail, sequence);
  pin(branch.tail);
  leaves.use(branch.tail);
  return branch.tail;
}

} // namespace inf
