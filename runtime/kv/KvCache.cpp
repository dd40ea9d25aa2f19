#include "runtime/kv/KvCache.h"

#include <algorithm>
#include <vector>

#include "runtime/base/Error.h"
#include "runtime/kv/GroupBlocks.h"
#include "runtime/kv/PoolSizes.h"

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
    if (group.block_tokens == 0 || group.block_bytes == 0)
      fail(ErrorCode::Internal, "a KV group with blocks of {} tokens, {} bytes", group.block_tokens,
           group.block_bytes);
  return options;
}

} // namespace

struct KvCache::State {
  struct Sequence {
    uint32_t position = 0, committed = 0;
  };

  State(std::span<const inf_kv_group> kvGroups, const KvCacheOptions &cacheOptions)
      : options(checked(kvGroups, cacheOptions)), sequences(options.sequences) {
    std::vector<PoolSize> sizes = poolSizes(kvGroups, options);
    for (size_t g = 0; g < kvGroups.size(); ++g)
      groups.emplace_back(kvGroups[g], sizes[g].blocks, sizes[g].perSequence, options.sequences,
                          options.context, 0);
    for (const GroupBlocks &group : groups)
      views.push_back(group.view());
  }

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

  void truncate(uint32_t sequence, uint32_t position) {
    for (GroupBlocks &group : groups)
      group.truncate(sequence, position);
    Sequence &state = sequences[sequence];
    state.position = position;
    state.committed = std::min(state.committed, position);
  }

  KvCacheOptions options;
  std::vector<GroupBlocks> groups; // [kv_groups]
  std::vector<Sequence> sequences; // [sequences]
  std::vector<inf_kv_view> views;  // [kv_groups]
  KvCacheStats counters;
};

KvCache::KvCache(std::span<const inf_kv_group> groups, const KvCacheOptions &options)
    : state(std::make_unique<State>(groups, options)) {}
KvCache::KvCache(KvCache &&) noexcept = default;
KvCache::~KvCache() = default;

uint32_t KvCache::longestPrefix(std::span<const int32_t>, uint64_t) const { return 0; }

uint32_t KvCache::attach(uint32_t sequence, std::span<const int32_t>, uint64_t) {
  if (uint32_t held = state->at(sequence).position)
    fail(ErrorCode::Internal, "sequence {} begins anew but holds {} tokens", sequence, held);
  return 0;
}

uint32_t KvCache::roomFor(uint32_t sequence, uint32_t wanted) const {
  uint32_t position = state->at(sequence).position;
  uint64_t end = std::min<uint64_t>(state->options.context, uint64_t{position} + wanted);
  for (const GroupBlocks &group : state->groups) {
    uint64_t available = uint64_t{group.pool.freeBlocks()} + group.pool.cachedBlocks();
    end = std::min(end, group.reach(sequence, position, available));
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
  for (GroupBlocks &group : state->groups)
    group.extend(sequence, position, position + count);
}

void KvCache::append(uint32_t sequence, std::span<const int32_t> tokens) {
  State::Sequence &now = state->at(sequence);
  uint64_t end = uint64_t{now.position} + tokens.size();
  for (const GroupBlocks &group : state->groups)
    if (end > state->options.context || group.missing(sequence, now.position, end) != 0)
      fail(ErrorCode::Internal, "positions {} to {} of sequence {} have no KV blocks yet",
           now.position, end, sequence);
  now.position = static_cast<uint32_t>(end);
}

void KvCache::commit(uint32_t sequence, uint32_t position) {
  State::Sequence &now = state->at(sequence);
  if (position < now.committed || position > now.position)
    fail(ErrorCode::Internal, "sequence {} can't commit {}: {} are, of {}", sequence, position,
         now.committed, now.position);
  now.committed = position;
  for (GroupBlocks &group : state->groups)
    group.releaseBefore(sequence, position);
}

void KvCache::checkpoint(uint32_t sequence) { state->at(sequence); }

bool KvCache::canTruncate(uint32_t sequence, uint32_t position) const {
  return position <= state->at(sequence).position &&
         std::all_of(state->groups.begin(), state->groups.end(), [&](const GroupBlocks &group) {
           return group.canTruncate(sequence, position);
         });
}

std::string KvCache::whyNoTruncate(uint32_t sequence, uint32_t position) const {
  for (const GroupBlocks &group : state->groups)
    if (!group.canTruncate(sequence, position))
      return fmt::format("keys of its window of {} before that are no longer held.",
                         group.window());
  return "it holds fewer tokens.";
}

void KvCache::truncate(uint32_t sequence, uint32_t position) {
  if (!canTruncate(sequence, position))
    fail(ErrorCode::Internal, "sequence {} can't go back to position {}", sequence, position);
  state->truncate(sequence, position);
}

void KvCache::release(uint32_t sequence) {
  state->at(sequence);
  state->truncate(sequence, 0);
}

void KvCache::dropPrefixes() {}

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
