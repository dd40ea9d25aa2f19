// Prefixes whose blocks are kept: the tree of their tokens, the blocks of each node, checkpoints of
// window groups, and what goes when a sequence needs memory.
//
// A node refers to its blocks of full groups as long as it exists. Blocks of window groups are
// referred to by checkpoints: one at position p, in the node that holds token p - 1, claims those
// that cover [p - window, p). That is one position more than the query at p sees, so the same
// prompt again finds all but its last token. A block that no checkpoint claims any more is dropped.
//
//   tokens        0         64        128       192       256
//   nodes         [    A    ][    B    ][    C    ][ D  ]
//   full group    [   a0    ][   b0    ][   c0    ][ d0 ]
//   window 100                          [   c1    ][ d1 ]     claimed by a checkpoint at D's end
//
// Evicted are leaves that no running sequence stands on, and checkpoints. A leaf without a
// checkpoint, in a model with window groups, can't be attached to at any position of it: it goes at
// once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/abi/inf_abi.h"
#include "runtime/kv/EvictionQueue.h"
#include "runtime/kv/GroupBlocks.h"
#include "runtime/kv/KvCache.h"
#include "runtime/kv/PrefixTree.h"

namespace inf {

/// A position in the tree: `node` holds the token before it. Position 0: no node.
struct PrefixPlace {
  PrefixNodeId node = noPrefixNode;
  uint32_t position = 0;
};

/// How far a running sequence is in the index. Its nodes are not evicted.
struct PrefixBranch {
  uint64_t tenant = 0;
  PrefixNodeId node = noPrefixNode; ///< the last full block; none: the root
  PrefixNodeId tail = noPrefixNode; ///< behind it, not full, its blocks this sequence's
  uint32_t indexed = 0;             ///< tokens up to `node`
};

/// Allocates nothing after construction.
class PrefixIndex {
public:
  /// `groups` must outlive this object.
  PrefixIndex(std::vector<GroupBlocks> &groups, const KvCacheOptions &options);

  /// Tokens of a full node: the least common multiple of the groups' blocks.
  uint32_t blockTokens() const { return nodeTokens; }

  /// The furthest position within `tokens` that a sequence could go on from.
  PrefixPlace find(std::span<const int32_t> tokens, uint64_t tenant) const;
  /// Lets an empty sequence begin there: its tables get the blocks, a block that ends beyond the
  /// place is copied. False, and nothing happens, when there is no room for a copy.
  bool begin(PrefixBranch &branch, uint32_t sequence, PrefixPlace place);

  /// The next block of the sequence's tokens, whose keys and values are computed, enters. Where the
  /// same is here already, the sequence takes that instead of its own. False when there is no node
  /// for it.
  bool addBlock(PrefixBranch &branch, uint32_t sequence, std::span<const int32_t> tokens);
  /// The position behind the branch's blocks and `tail`, fewer tokens than a block, is one to come
  /// back to: the tail enters, and what a query there sees is kept if the sequence still holds it.
  void checkpoint(PrefixBranch &branch, uint32_t sequence, std::span<const int32_t> tail);
  /// The sequence went back to `position`, below what it had committed, and will write there.
  void retreat(PrefixBranch &branch, uint32_t position);
  /// The sequence has ended.
  void leave(PrefixBranch &branch);

  /// Evicts until the group has `blocks` free ones. Requires that free and cached ones suffice.
  void makeRoom(uint32_t group, uint64_t blocks);
  /// Forgets everything. No branch may be in use.
  void clear();

  uint64_t evictedBlocks() const { return evicted; }
  uint64_t copiedBlocks() const { return copied; }

private:
  /// A block of a node, in one group.
  struct Slot {
    int32_t block = -1;
    uint32_t valid = 0;  ///< positions from the block's start that hold this node's tokens
    uint32_t claims = 0; ///< checkpoints, in window groups
  };
  /// Positions in a node that have window blocks, as one: [low, high]; high 0: none.
  struct Checkpoint {
    uint32_t low = 0, high = 0;
  };

  bool isWindow(uint32_t group) const { return groups[group].window() != 0; }
  uint32_t slotsOfGroup(uint32_t group) const { return nodeTokens / groups[group].blockTokens(); }
  Slot &slot(PrefixNodeId node, uint32_t group, uint32_t blockIndex);
  const Slot &slot(PrefixNodeId node, uint32_t group, uint32_t blockIndex) const;
  /// The node of the path to `node` that holds `position`.
  PrefixNodeId ancestorAt(PrefixNodeId node, uint32_t position) const;

  PrefixPlace bestOfChildren(PrefixNodeId parent, std::span<const int32_t> tokens) const;
  uint32_t attachable(PrefixNodeId node, uint32_t position) const;
  uint32_t attachable(PrefixNodeId node, uint32_t group, uint32_t position) const;
  void share(uint32_t group, uint32_t sequence, PrefixPlace place);
  bool copyTails(uint32_t sequence, uint32_t position);
  void use(PrefixPlace place);

  PrefixNodeId parentFor(const PrefixBranch &branch);
  bool haveNodes();
  void fill(PrefixNodeId node, uint32_t sequence);
  void adopt(PrefixNodeId node, uint32_t sequence);
  PrefixNodeId addTail(PrefixBranch &branch, uint32_t sequence, std::span<const int32_t> tokens);
  PrefixNodeId covering(const PrefixBranch &branch, std::span<const int32_t> tokens) const;

  template <typename Action>
  void eachSlot(PrefixNodeId node, uint32_t group, Checkpoint range, Action action);
  void claim(PrefixNodeId node, Checkpoint range);
  void unclaim(PrefixNodeId node, Checkpoint range);
  void keepWindow(PrefixNodeId node, uint32_t group, uint32_t sequence, uint32_t position);
  void dropCheckpoint(PrefixNodeId node);
  double worthOfCheckpoint(PrefixNodeId node) const;
  double worthOfLeaf(PrefixNodeId node) const;

  void pin(PrefixNodeId node);
  void unpin(PrefixNodeId node);
  /// What follows when a node lost a child, a pin or its checkpoint.
  void settle(PrefixNodeId node);
  void erase(PrefixNodeId node);
  void drop(uint32_t group, Slot &slot);

  std::vector<GroupBlocks> &groups;
  double positionCost;
  uint32_t nodeTokens;
  bool needsCheckpoints; ///< a window of more than one token: some positions can't be attached to
  std::vector<uint32_t> firstSlot; // [groups] within a node's slots
  uint32_t slotsPerNode;
  PrefixTree tree;
  std::vector<Slot> slots;             // [nodes][slotsPerNode]
  std::vector<uint32_t> pins;          // [nodes] running sequences that stand on it
  std::vector<Checkpoint> checkpoints; // [nodes]
  EvictionQueue leaves, checkpointQueue;
  uint64_t evicted = 0, copied = 0;
};

} // namespace inf
