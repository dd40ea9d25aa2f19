#include "runtime/kv/PoolSizes.h"

#include <algorithm>

#include "runtime/base/Error.h"
#include "runtime/base/Region.h"

namespace inf {
namespace {

uint64_t divideUp(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/// Blocks that a sequence of `tokens` leaves in the index of a window group: those of its
/// checkpoints, two of which are its prompt's end and its own.
uint64_t checkpointBlocks(const inf_kv_group &group, uint32_t tokens,
                          const KvCacheOptions &options) {
  if (!options.prefixes || group.window == 0)
    return 0;
  uint64_t each = divideUp(group.window, group.block_tokens) + 1;
  uint64_t all = divideUp(tokens, group.block_tokens);
  uint64_t between = options.checkpointTokens == 0 ? 0 : tokens / options.checkpointTokens;
  return std::min(all, each * (2 + between));
}

uint64_t blocksOfAllSequences(const inf_kv_group &group, const KvCacheOptions &options) {
  uint64_t each = blocksOfSequence(group, options.context, options.maxRows) +
                  checkpointBlocks(group, options.context, options);
  return bufferBytes(each, options.sequences, "KV block table");
}

uint32_t nameable(uint64_t blocks) {
  if (blocks > INT32_MAX)
    fail(ErrorCode::Usage,
         "the KV cache would have {} blocks of a kind, more than a table can name (2147483647). "
         "Use a smaller context, fewer sequences or less memory.",
         blocks);
  return static_cast<uint32_t>(blocks);
}

/// The cut of KvCacheOptions::bytes.
class Division {
public:
  Division(std::span<const inf_kv_group> groupsToServe, const KvCacheOptions &cacheOptions)
      : groups(groupsToServe), options(cacheOptions) {
    for (const inf_kv_group &group : groups)
      blocks.push_back(blocksOfOneStep(group));
    left = options.bytes - bytesOfOneStep();
  }

  /// Gives the rest away until it is spent or every group has enough.
  std::vector<uint64_t> divide() {
    std::vector<size_t> open;
    for (size_t g = 0; g < groups.size(); ++g)
      if (blocks[g] < most(g))
        open.push_back(g);
    while (!open.empty() && !giveRound(open))
      std::erase_if(open, [&](size_t g) { return blocks[g] >= most(g); });
    return blocks;
  }

private:
  uint64_t blocksOfOneStep(const inf_kv_group &group) const {
    return blocksOfSequence(group, std::min(options.context, options.maxRows), options.maxRows);
  }

  uint64_t bytesOfOneStep() const {
    uint64_t needed = 0;
    for (size_t g = 0; g < groups.size(); ++g)
      needed += bufferBytes(blocks[g], groups[g].block_bytes, "KV cache");
    if (needed > options.bytes)
      fail(ErrorCode::Usage,
           "{} bytes of KV cache don't hold one sequence of one step: expected at least {}. Give "
           "more, or compile the model for fewer rows.",
           options.bytes, needed);
    return needed;
  }

  /// More than this is of no use. Prefixes can use any amount.
  uint64_t most(size_t g) const {
    return options.prefixes ? UINT64_MAX : blocksOfAllSequences(groups[g], options);
  }

  double shareOf(size_t g) const {
    uint32_t mean = std::max(1u, options.context / 2);
    const inf_kv_group &group = groups[g];
    return static_cast<double>(blocksOfSequence(group, mean, 1) +
                               checkpointBlocks(group, mean, options));
  }

  /// One round of `left`, cut between the open groups; true when no group had enough of it.
  bool giveRound(const std::vector<size_t> &open) {
    double unit = 0;
    for (size_t g : open)
      unit += shareOf(g) * static_cast<double>(groups[g].block_bytes);
    double units = static_cast<double>(left) / unit;
    bool spent = true;
    for (size_t g : open) {
      uint64_t wanted = static_cast<uint64_t>(units * shareOf(g));
      uint64_t fits = left / groups[g].block_bytes; // whatever the rounding of the doubles
      uint64_t given = std::min({wanted, fits, most(g) - blocks[g]});
      spent &= given == std::min(wanted, fits);
      blocks[g] += given;
      left -= given * groups[g].block_bytes;
    }
    return spent;
  }

  std::span<const inf_kv_group> groups;
  const KvCacheOptions &options;
  std::vector<uint64_t> blocks;
  uint64_t left;
};

} // namespace

uint32_t blocksOfSequence(const inf_kv_group &group, uint32_t tokens, uint32_t maxRows) {
  uint64_t whole = divideUp(tokens, group.block_tokens);
  if (group.window == 0)
    return static_cast<uint32_t>(whole);
  // A step of `maxRows` rows sees `window` keys before its first row at most; the ends of that span
  // need not lie on block boundaries, hence one more.
  uint64_t span = uint64_t{group.window} + maxRows;
  return static_cast<uint32_t>(std::min(whole, divideUp(span, group.block_tokens) + 1));
}

std::vector<PoolSize> poolSizes(std::span<const inf_kv_group> groups,
                                const KvCacheOptions &options) {
  std::vector<uint64_t> blocks;
  if (options.bytes != 0)
    blocks = Division(groups, options).divide();
  std::vector<PoolSize> sizes;
  for (size_t g = 0; g < groups.size(); ++g)
    sizes.push_back(
        {nameable(options.bytes != 0 ? blocks[g] : blocksOfAllSequences(groups[g], options)),
         blocksOfSequence(groups[g], options.context, options.maxRows)});
  return sizes;
}

} // namespace inf
