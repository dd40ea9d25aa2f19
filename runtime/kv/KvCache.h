// The keys and values of all sequences: blocks of positions in a pool per KV group, a table per
// sequence that says which block holds which positions, and an index of prefixes whose blocks are
// kept, so that a sequence that begins as another did shares its blocks instead of computing them
// again.
//
//   sequence 0   [ A ][ B ][ C ][ D' ]        A, B: held by both sequences (two references each)
//   sequence 1   [ A ][ B ][ E ]              D': the last block, not full, written by one only
//   index        A -> B -> C                  C: full, its tokens known: the next may begin so too
//
// Sharing is exact: what a block holds depends on the tokens up to its end and on nothing else, to
// the last bit. A block that is shared is never written; a sequence that goes on from inside a
// block gets a copy of it.
//
// Window groups hold what the next query sees. To go on from position p, their blocks for
// [p - window + 1, p) are needed as well, so the index keeps those at checkpoints: where a prompt
// ended, where a sequence ended, and every `checkpointTokens` of a long prompt.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/abi/inf_abi.h"

namespace inf {

/// Which cached blocks go first when a sequence needs memory. CostAware: the least (seconds to
/// compute again) per byte freed, aged by the time since the last use.
enum class EvictionPolicy { CostAware, Lru, Lfu, Random };

struct KvCacheOptions {
  uint32_t sequences = 1;  ///< sequences at a time; 1 .. 65536
  uint32_t context = 4096; ///< tokens a sequence can hold
  uint32_t maxRows = 1;    ///< most rows of a sequence in one step
  uint64_t bytes = 0;      ///< blocks of all groups together, cut between the groups so that a
                           ///< mean sequence exhausts them at once; 0: enough for every sequence
                           ///< to reach its context
  bool prefixes = false;   ///< keep and share prefixes
  uint32_t checkpointTokens = 1024; ///< rounded up to whole blocks; 0: only prompts' and sequences'
                                    ///< ends
  EvictionPolicy eviction = EvictionPolicy::CostAware;
  /// A token at position p costs 1 + p * positionCost times what one at the start costs to compute:
  /// what attention adds. For CostAware.
  double positionCost = 0;
  std::array<uint64_t, 2> modelSalt{}; ///< the build id: blocks of another build never match
  uint32_t keyBits = 128;              ///< of a block's hash; fewer make collisions, for tests
};

/// Counters since construction and the state now.
struct KvCacheStats {
  uint64_t lookups = 0, lookupTokens = 0, hitTokens = 0, copiedBlocks = 0, evictedBlocks = 0;
  uint64_t bytes = 0;       ///< of all blocks
  uint64_t heldBytes = 0;   ///< referenced by a sequence
  uint64_t cachedBytes = 0; ///< in the index, referenced by no sequence: can be evicted
};

/// One group's blocks, for tests and reports: blocks == free + held + cached.
struct KvGroupStats {
  uint32_t blocks = 0;
  uint32_t free = 0;
  uint32_t held = 0;        ///< by sequences
  uint32_t cached = 0;      ///< by the index alone
  uint32_t perSequence = 0; ///< a sequence never holds more
};

/// Not thread-safe. All memory is taken at construction; nothing allocates later.
///
/// A step of a sequence: roomFor(), extend(), append(), the computation, commit(). Every method
/// fails with Usage for a sequence that doesn't exist, and with Internal when what it requires is
/// not so.
class KvCache {
public:
  /// Fails with Usage when `bytes` can't hold one sequence of one step, with Machine when the OS
  /// gives no memory.
  KvCache(std::span<const inf_kv_group> groups, const KvCacheOptions &options);
  KvCache(KvCache &&) noexcept;
  ~KvCache();

  /// Tokens of the longest cached prefix, at most tokens.size() - 1: the last one has to run to
  /// give logits. `tenant` keeps prefixes of different owners apart.
  uint32_t longestPrefix(std::span<const int32_t> tokens, uint64_t tenant) const;
  /// Begins `sequence`, which is empty, with the longest cached prefix and returns its length: the
  /// position that the sequence goes on from. The tokens are compared, not only their hashes. May
  /// give less than longestPrefix() said when there is no free block for a copy.
  uint32_t attach(uint32_t sequence, std::span<const int32_t> tokens, uint64_t tenant);

  /// How many more tokens the sequence could be given now, evicting cached prefixes if need be, up
  /// to `wanted`. Nothing changes.
  uint32_t roomFor(uint32_t sequence, uint32_t wanted) const;
  /// Why roomFor() says less than `count`, for an error's message.
  std::string whyNoRoom(uint32_t sequence, uint32_t count) const;
  /// Gives blocks to positions [position, position + count), evicting what it must; those that have
  /// one keep it, so a scheduler can reserve early. Requires roomFor(sequence, count) >= count.
  void extend(uint32_t sequence, uint32_t count);
  /// The tokens now held at [position, position + tokens.size()), which have blocks; moves the
  /// position. Drafts are appended too and taken back by truncate().
  void append(uint32_t sequence, std::span<const int32_t> tokens);
  /// Tokens below `position` will never be taken back: window groups free what no later query sees,
  /// full blocks enter the index.
  void commit(uint32_t sequence, uint32_t position);
  /// The sequence's committed position is one to come back to: window blocks that it needs are kept
  /// in the index. A prompt's end, usually.
  void checkpoint(uint32_t sequence);
  /// Whether everything a query at `position` sees is still held.
  bool canTruncate(uint32_t sequence, uint32_t position) const;
  /// Why canTruncate() says no, a sentence for an error's message.
  std::string whyNoTruncate(uint32_t sequence, uint32_t position) const;
  /// Takes the tokens at and after `position` back.
  void truncate(uint32_t sequence, uint32_t position);
  /// Ends the sequence: the slot is empty. With prefixes on, its committed tokens stay in the index
  /// (a checkpoint at its end), evictable; else its blocks are free.
  void release(uint32_t sequence);
  /// Empties the index.
  void dropPrefixes();

  uint32_t position(uint32_t sequence) const;
  uint32_t committed(uint32_t sequence) const;
  uint32_t sequences() const;
  /// Blocks of all groups that a sequence of `tokens` tokens needs alone, as a share of all blocks
  /// of the scarcest group: above 1, it can never run.
  double shareOf(uint32_t tokens) const;
  KvCacheStats stats() const;
  KvGroupStats groupStats(uint32_t group) const;
  /// Blocks of a group that a sequence holds, shared ones included.
  uint32_t heldBlocks(uint32_t sequence, uint32_t group) const;
  /// For a step; stays valid as long as this object. [groups]
  std::span<const inf_kv_view> views() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace inf
