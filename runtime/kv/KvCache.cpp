#include "runtime/kv/KvCache.h"

#include <algorithm>
#include <vector>

#include "runtime/base/Error.h"
#include "runtime/base/Region.h"
#include "runtime/kv/GroupBlocks.h"
#include "runtime/kv/PoolSizes.h"
#include "runtime/kv/PrefixIndex.h"

namespace inf {
namespace {

constexpr uint32_t mostSequences = 65536; // far beyond any machine; keeps tables from wrapping

KvCacheOptions checked(std::span<const inf_kv_group> groups, const KvCacheOptions &options) {
  if (options.sequences < 1 || options.sequences > mostSequences)
    fail(ErrorCode::Usage, "{} sequences are not possible: expected 1 to {}.", options.sequences,
         mostSequences);
  if (options.context < 1 || options.context > INT32_MAX || options.maxRows < 1)
    fail(ErrorCode::Internal, "a KV cache of context {} and steps of {} rows", options.context,
         options.maxRows);
  for (const inf_kv_group &group : groups)
    if (group.block_tokens == 0 || group.block_bytes == 0 ||
        group.block_bytes != group.slots * group.slot_bytes)
      fail(ErrorCode::Internal,
           "a KV group with blocks of {} tokens, {} bytes: {} slots of {} bytes",
           group.block_tokens, group.block_bytes, group.slots, group.slot_bytes);
  return options;
}

} // namespace

struct KvCache::State {
  struct Sequence {
    uint32_t position = 0, committed = 0;
    PrefixBranch branch; ///< of what is committed
  };

  State(std::span<const inf_kv_group> kvGroups, const KvCacheOptions &cacheOptions);

  const Sequence &at(uint32_t sequence) const {
    if (sequence >= sequences.size())
      fail(ErrorCode::Usage, "sequence {} is unknown: the KV cache has sequences 0 to {}.",
           sequence, sequences.size() - 1);
    return sequences[sequence];
  }
  Sequence &at(uint32_t sequence) {
    return const_cast<Sequence &>(std::as_const(*this).at(sequence));
  }
  const GroupBlocks &groupAt(uint32_t group) const {
    if (group >= groups.size())
      fail(ErrorCode::Internal, "KV group {} of {} does not exist", group, groups.size());
    return groups[group];
  }
  /// The tokens of a sequence, its whole context. Only with prefixes.
  std::span<int32_t> tokensOf(uint32_t sequence) const {
    return {tokens.as<int32_t>() + uint64_t{sequence} * options.context, options.context};
  }
  /// What can be given to sequences: free blocks and those that only the index has.
  static uint64_t available(const GroupBlocks &group) {
    return uint64_t{group.pool.freeBlocks()} + group.pool.cachedBlocks();
  }
  /// Tokens of the end of the committed ones that are fewer than a block of the index.
  std::span<const int32_t> tail(uint32_t sequence) const;

  /// Whether going back to `position` takes a copy of a shared block that there is no block for.
  bool lacksCopy(const GroupBlocks &group, uint32_t sequence, uint32_t position) const {
    return position < sequences[sequence].committed && position % group.blockTokens() != 0 &&
           group.isShared(sequence, position) && available(group) == 0;
  }

  void enter(uint32_t sequence);
  void truncate(uint32_t sequence, uint32_t position);
  void makeOwn(uint32_t sequence, uint32_t position);

  KvCacheOptions options;
  std::vector<GroupBlocks> groups;    // [kv_groups]
  std::vector<Sequence> sequences;    // [sequences]
  std::vector<inf_kv_view> views;     // [kv_groups]
  Region tokens;                      // int32 [sequences][context]; empty without prefixes
  std::unique_ptr<PrefixIndex> index; // null without prefixes
  uint32_t checkpointTokens = 0;      // whole blocks of the index; 0: none
  KvCacheStats counters;
};

KvCache::State::State(std::span<const inf_kv_group> kvGroups, const KvCacheOptions &cacheOptions)
    : options(checked(kvGroups, cacheOptions)), sequences(options.sequences) {
  std::vector<PoolSize> sizes = poolSizes(kvGroups, options);
  groups.reserve(kvGroups.size());
  for (size_t g = 0; g < kvGroups.size(); ++g)
    groups.emplace_back(kvGroups[g], sizes[g].blocks, sizes[g].perSequence, options.sequences,
                        options.context, options.prefixes ? 1 : 0);
  for (const GroupBlocks &group : groups)
    views.push_back(group.view());
  if (!options.prefixes)
    return;
  tokens = Region(bufferBytes(uint64_t{options.context} * sizeof(int32_t), options.sequences,
                              "tokens of sequences"),
                  "tokens of sequences");
  index = std::make_unique<PrefixIndex>(groups, options);
  uint64_t whole = index->blockTokens();
  checkpointTokens = static_cast<uint32_t>(std::min<uint64_t>(
      (options.checkpointTokens + whole - 1) / whole * whole, UINT32_MAX / whole * whole));
}

/// The full blocks of committed tokens that aren't in the index yet.
void KvCache::State::enter(uint32_t sequence) {
  Sequence &now = sequences[sequence];
  uint32_t block = index->blockTokens();
  while (now.branch.indexed + block <= now.committed) {
    if (!index->addBlock(now.branch, sequence,
                         tokensOf(sequence).subspan(now.branch.indexed, block)))
      return; // no node is free now; the next commit tries again
    if (checkpointTokens != 0 && now.branch.indexed % checkpointTokens == 0)
      index->checkpoint(now.branch, sequence, {});
  }
}

std::span<const int32_t> KvCache::State::tail(uint32_t sequence) const {
  const Sequence &now = sequences[sequence];
  return tokensOf(sequence).subspan(now.branch.indexed, now.committed - now.branch.indexed);
}

void KvCache::State::truncate(uint32_t sequence, uint32_t position) {
  Sequence &now = sequences[sequence];
  for (GroupBlocks &group : groups)
    group.truncate(sequence, position);
  if (index && position < now.committed) {
    index->retreat(now.branch, position);
    makeOwn(sequence, position);
  }
  now.position = position;
  now.committed = std::min(now.committed, position);
}

/// Others may refer to a committed block: what is written into it from `position` on needs a copy.
void KvCache::State::makeOwn(uint32_t sequence, uint32_t position) {
  for (uint32_t g = 0; g < groups.size(); ++g) {
    if (position % groups[g].blockTokens() == 0 || !groups[g].isShared(sequence, position))
      continue;
    index->makeRoom(g, 1);
    if (!groups[g].isShared(sequence, position))
      continue; // it was the room
    groups[g].makeOwn(sequence, position / groups[g].blockTokens());
    ++counters.copiedBlocks;
  }
}

KvCache::KvCache(std::span<const inf_kv_group> groups, const KvCacheOptions &options)
    : state(std::make_unique<State>(groups, options)) {}
KvCache::KvCache(KvCache &&) noexcept = default;
KvCache::~KvCache() = default;

uint32_t KvCache::longestPrefix(std::span<const int32_t> tokens, uint64_t tenant) const {
  if (!state->index || tokens.empty())
    return 0;
  return state->index->find(tokens.first(tokens.size() - 1), tenant).position;
}

uint32_t KvCache::attach(uint32_t sequence, std::span<const int32_t> tokens, uint64_t tenant) {
  State::Sequence &now = state->at(sequence);
  if (now.position != 0)
    fail(ErrorCode::Internal, "sequence {} begins anew but holds {} tokens", sequence,
         now.position);
  now.branch.tenant = tenant;
  if (!state->index || tokens.empty())
    return 0;
  ++state->counters.lookups;
  state->counters.lookupTokens += tokens.size();
  state->truncate(sequence, 0); // what was reserved
  std::span<const int32_t> wanted =
      tokens.first(std::min<size_t>(tokens.size() - 1, state->options.context));
  PrefixPlace place = state->index->find(wanted, tenant);
  while (place.position != 0 && !state->index->begin(now.branch, sequence, place)) {
    uint32_t block = state->index->blockTokens(); // whole blocks need no copy
    place = state->index->find(wanted.first(place.position / block * block), tenant);
  }
  std::copy_n(wanted.begin(), place.position, state->tokensOf(sequence).begin());
  now.position = now.committed = place.position;
  state->counters.hitTokens += place.position;
  return place.position;
}

uint32_t KvCache::roomFor(uint32_t sequence, uint32_t wanted) const {
  uint32_t position = state->at(sequence).position;
  uint64_t end = std::min<uint64_t>(state->options.context, uint64_t{position} + wanted);
  for (const GroupBlocks &group : state->groups) {
    uint64_t reach = group.reach(sequence, position, State::available(group));
    end = std::min(end, reach);
  }
  return static_cast<uint32_t>(end - position);
}

std::string KvCache::whyNoRoom(uint32_t sequence, uint32_t count) const {
  const State::Sequence &now = state->at(sequence);
  uint64_t end = uint64_t{now.position} + count;
  for (const GroupBlocks &group : state->groups)
    if (group.reach(sequence, now.position, UINT32_MAX) < end)
      return fmt::format("sequence {} would hold {} uncommitted draft tokens, which its {} KV "
                         "blocks for a window of {} have no room for. Commit (a generated row) or "
                         "roll back first.",
                         sequence, end - now.committed, group.blocksPerSequence(), group.window());
  return fmt::format("sequence {} needs KV blocks for {} more tokens after {}, there are some for "
                     "{}: the rest is held by running sequences. End or preempt one, or give the "
                     "KV cache more memory.",
                     sequence, count, now.position, roomFor(sequence, count));
}

void KvCache::extend(uint32_t sequence, uint32_t count) {
  uint32_t position = state->at(sequence).position;
  if (roomFor(sequence, count) < count)
    fail(ErrorCode::Internal, "{}", whyNoRoom(sequence, count));
  for (uint32_t g = 0; g < state->groups.size(); ++g) {
    GroupBlocks &group = state->groups[g];
    if (state->index)
      state->index->makeRoom(g, group.missing(sequence, position, position + count));
    group.extend(sequence, position, position + count);
  }
}

void KvCache::append(uint32_t sequence, std::span<const int32_t> tokens) {
  State::Sequence &now = state->at(sequence);
  uint64_t end = uint64_t{now.position} + tokens.size();
  for (const GroupBlocks &group : state->groups)
    if (end > state->options.context || group.missing(sequence, now.position, end) != 0)
      fail(ErrorCode::Internal, "positions {} to {} of sequence {} have no KV blocks yet",
           now.position, end, sequence);
  if (state->index)
    std::copy(tokens.begin(), tokens.end(), state->tokensOf(sequence).begin() + now.position);
  now.position = static_cast<uint32_t>(end);
}

void KvCache::commit(uint32_t sequence, uint32_t position) {
  State::Sequence &now = state->at(sequence);
  if (position < now.committed || position > now.position)
    fail(ErrorCode::Internal, "sequence {} can't commit {}: {} are, of {}", sequence, position,
         now.committed, now.position);
  now.committed = position;
  if (state->index)
    state->enter(sequence);
  for (GroupBlocks &group : state->groups)
    group.releaseBefore(sequence, position);
}

void KvCache::checkpoint(uint32_t sequence) {
  state->at(sequence);
  if (!state->index)
    return;
  state->enter(sequence);
  if (state->tail(sequence).size() < state->index->blockTokens())
    state->index->checkpoint(state->sequences[sequence].branch, sequence, state->tail(sequence));
}

bool KvCache::canTruncate(uint32_t sequence, uint32_t position) const {
  return position <= state->at(sequence).position &&
         std::all_of(state->groups.begin(), state->groups.end(), [&](const GroupBlocks &group) {
           return group.canTruncate(sequence, position) &&
                  !state->lacksCopy(group, sequence, position);
         });
}

std::string KvCache::whyNoTruncate(uint32_t sequence, uint32_t position) const {
  for (const GroupBlocks &group : state->groups)
    if (!group.canTruncate(sequence, position))
      return fmt::format("keys of its window of {} before that are no longer held.",
                         group.window());
    else if (state->lacksCopy(group, sequence, position))
      return "the block there is shared and there is no memory for a copy.";
  return "it holds fewer tokens.";
}

void KvCache::truncate(uint32_t sequence, uint32_t position) {
  if (!canTruncate(sequence, position))
    fail(ErrorCode::Internal, "sequence {} can't go back to position {}", sequence, position);
  state->truncate(sequence, position);
}

void KvCache::release(uint32_t sequence) {
  State::Sequence &now = state->at(sequence);
  if (state->index && now.committed != 0) {
    state->truncate(sequence, now.committed);
    checkpoint(sequence);
    state->index->leave(now.branch);
    for (GroupBlocks &group : state->groups)
      group.truncate(sequence, 0);
  }
  state->truncate(sequence, 0);
  now = {};
}

void KvCache::dropPrefixes() {
  if (!state->index)
    return;
  for (State::Sequence &now : state->sequences) {
    uint64_t tenant = now.branch.tenant;
    state->index->leave(now.branch); // the next commit enters all it has again
    now.branch.tenant = tenant;
  }
  state->index->clear();
}

uint32_t KvCache::position(uint32_t sequence) const { return state->at(sequence).position; }
uint32_t KvCache::committed(uint32_t sequence) const { return state->at(sequence).committed; }
uint32_t KvCache::sequences() const { return state->options.sequences; }

double KvCache::shareOf(uint32_t tokens) const {
  double share = 0;
  for (const GroupBlocks &group : state->groups) {
    uint32_t blocks = std::min(group.endBlock(tokens), group.blocksPerSequence());
    share = std::max(share, blocks / static_cast<double>(group.pool.blocks()));
  }
  return share;
}

KvCacheStats KvCache::stats() const {
  KvCacheStats all = state->counters;
  if (state->index) {
    all.copiedBlocks += state->index->copiedBlocks();
    all.evictedBlocks = state->index->evictedBlocks();
  }
  for (const GroupBlocks &group : state->groups) {
    all.bytes += group.pool.blocks() * group.pool.blockBytes();
    all.heldBytes += group.pool.heldBlocks() * group.pool.blockBytes();
    all.cachedBytes += group.pool.cachedBlocks() * group.pool.blockBytes();
  }
  return all;
}

KvGroupStats KvCache::groupStats(uint32_t group) const {
  const GroupBlocks &blocks = state->groupAt(group);
  return {blocks.pool.blocks(), blocks.pool.freeBlocks(), blocks.pool.heldBlocks(),
          blocks.pool.cachedBlocks(), blocks.blocksPerSequence()};
}

uint32_t KvCache::heldBlocks(uint32_t sequence, uint32_t group) const {
  state->at(sequence);
  return state->groupAt(group).heldBlocks(sequence);
}

std::span<const inf_kv_view> KvCache::views() const { return state->views; }

} // namespace inf
