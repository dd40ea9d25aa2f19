#include "tests/runtime/kv/KvModel.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace inf::test {
namespace {

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint32_t windowStart(uint32_t window, uint32_t position) {
  return window == 0 || position + 1 <= window ? 0 : position + 1 - window;
}

} // namespace

KvModel::KvModel(std::vector<inf_kv_group> kvGroups, const KvCacheOptions &cacheOptions,
                 bool isAmple, uint32_t seed)
    : kv(kvGroups, cacheOptions), groups(std::move(kvGroups)), options(cacheOptions),
      ample(isAmple), random(seed), sequences(options.sequences) {
  for (const inf_kv_group &group : groups) {
    hasFull |= group.window == 0;
    needsWindow |= group.window > 1;
    blockTokens = std::lcm(blockTokens, group.block_tokens);
  }
  texts.push_back({1, 2, 0, 1});
}

int32_t KvModel::block(uint32_t s, uint32_t g, uint32_t position) const {
  inf_kv_view view = kv.views()[g];
  return view.table[s * view.table_stride + position / groups[g].block_tokens];
}

uint32_t &KvModel::place(uint32_t s, uint32_t g, uint32_t slot, uint32_t position) const {
  const inf_kv_view view = kv.views()[g];
  uint8_t *base = view.base + slot * uint64_t(view.slot_stride) +
                  uint64_t(block(s, g, position)) * groups[g].slot_bytes;
  return reinterpret_cast<uint32_t *>(base)[position % groups[g].block_tokens];
}

std::string KvModel::act() {
  uint32_t s = below(options.sequences);
  if (!sequences[s].runs)
    return start(s);
  switch (below(40)) {
  case 0:
    kv.truncate(s, 0); // forgotten, not kept
    sequences[s] = {};
    return "";
  case 1:
    return goBack(s);
  case 2:
    kv.checkpoint(s);
    remember(s);
    return "";
  case 3:
  case 4:
    end(s);
    return "";
  case 5:
    if (below(200) == 0) {
      kv.dropPrefixes();
      indexed.clear();
      back.clear();
    }
    return "";
  default:
    return step(s);
  }
}

std::vector<int32_t> KvModel::somePrompt() {
  const std::vector<int32_t> &like = texts[below(texts.size())];
  std::vector<int32_t> prompt(like.begin(), like.begin() + below(like.size() + 1));
  uint32_t more = below(3) == 0 ? below(options.context) : below(30);
  for (uint32_t i = 0; i < more; ++i)
    prompt.push_back(static_cast<int32_t>(below(3)));
  prompt.resize(std::clamp<size_t>(prompt.size(), 1, options.context));
  return prompt;
}

std::string KvModel::start(uint32_t s) {
  Sequence &now = sequences[s];
  now.runs = true;
  now.tenant = below(8) == 0;
  now.wanted = somePrompt();
  uint32_t could = kv.longestPrefix(now.wanted, now.tenant);
  now.began = kv.attach(s, now.wanted, now.tenant);
  attached += now.began != 0;
  if (now.began > could || now.began >= now.wanted.size() || kv.position(s) != now.began ||
      kv.committed(s) != now.began)
    return fmt::format("attach gave {} of {}, promised were {}", now.began, now.wanted.size(),
                       could);
  now.sums = {now.tenant};
  for (uint32_t i = 0; i < now.began; ++i)
    now.sums.push_back(mix(now.sums.back(), uint64_t(now.wanted[i])));
  if (std::string wrong = foretell(now.wanted, now.tenant, now.began); !wrong.empty())
    return wrong;
  return checkSequence(s);
}

/// With memory for all, what is found is what was kept.
std::string KvModel::foretell(const std::vector<int32_t> &prompt, uint64_t tenant,
                              uint32_t found) const {
  uint32_t least = 0, most = 0;
  uint64_t sum = tenant;
  for (uint32_t i = 0; i + 1 < prompt.size(); ++i) {
    sum = mix(sum, uint64_t(prompt[i]));
    least = back.contains(sum) ? i + 1 : least;
    most = indexed.contains(sum) ? i + 1 : most;
  }
  if (found > most)
    return fmt::format("attach gave {}, only {} were ever kept", found, most);
  if (ample && hasFull && found < (needsWindow ? least : most))
    return fmt::format("attach gave {}, kept were {} ({} without windows)", found, least, most);
  return "";
}

std::string KvModel::write(uint32_t s, uint32_t count) {
  Sequence &now = sequences[s];
  uint32_t begin = kv.position(s);
  std::span<const int32_t> tokens(now.wanted.data() + begin, count);
  kv.extend(s, count);
  kv.append(s, tokens);
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t position = begin + i;
    now.sums.push_back(mix(now.sums.back(), uint64_t(tokens[i])));
    for (uint32_t g = 0; g < groups.size(); ++g) {
      for (uint32_t other = 0; other < sequences.size(); ++other)
        if (other != s && block(other, g, position) == block(s, g, position))
          return fmt::format("sequence {} writes position {} into a block of sequence {}", s,
                             position, other);
      for (uint32_t slot = 0; slot < groups[g].slots; ++slot)
        place(s, g, slot, position) = uint32_t(mix(now.sums.back(), 2 * g + slot));
    }
  }
  return "";
}

std::string KvModel::step(uint32_t s) {
  Sequence &now = sequences[s];
  if (kv.position(s) == options.context) {
    end(s);
    return "";
  }
  if (now.wanted.size() == kv.position(s))
    now.wanted.push_back(static_cast<int32_t>(below(3)));
  uint32_t left = static_cast<uint32_t>(now.wanted.size()) - kv.position(s);
  uint32_t count = kv.roomFor(s, std::min(left, 1 + below(options.maxRows)));
  if (count == 0) { // preempted, or somebody else is
    uint32_t victim = below(options.sequences);
    end(sequences[victim].runs ? victim : s);
    return "";
  }
  if (std::string wrong = write(s, count); !wrong.empty())
    return wrong;
  uint32_t drafts = below(4) == 0 ? below(count) : 0, before = kv.committed(s);
  if (drafts != 0) {
    kv.truncate(s, kv.position(s) - drafts);
    now.sums.resize(kv.position(s) + 1);
  }
  kv.commit(s, kv.position(s));
  markBlocks(s, before);
  return checkSequence(s);
}

std::string KvModel::goBack(uint32_t s) {
  Sequence &now = sequences[s];
  uint32_t position = below(kv.position(s) + 1);
  if (!kv.canTruncate(s, position))
    return "";
  kv.truncate(s, position);
  if (position == 0) {
    sequences[s] = {};
    return "";
  }
  now.sums.resize(position + 1);
  now.wanted.resize(position);
  now.began = position; // what is kept from there on has no more than the query sees
  return checkSequence(s);
}

void KvModel::end(uint32_t s) {
  if (kv.committed(s) != 0)
    remember(s);
  kv.release(s);
  if (texts.size() < 30)
    texts.push_back(sequences[s].wanted);
  else
    texts[below(texts.size())] = sequences[s].wanted;
  sequences[s] = {};
}

/// A checkpoint at the committed position.
void KvModel::remember(uint32_t s) {
  uint32_t position = kv.committed(s);
  if (position == 0)
    return;
  for (uint32_t p = 1; p <= position; ++p)
    indexed.insert(sequences[s].sums[p]);
  mark(s, position);
}

void KvModel::mark(uint32_t s, uint32_t position) {
  back.insert(sequences[s].sums[position]);
  if (position > sequences[s].began && position > 1)
    back.insert(sequences[s].sums[position - 1]);
}

/// What commit() keeps by itself.
void KvModel::markBlocks(uint32_t s, uint32_t from) {
  uint32_t whole = kv.committed(s) / blockTokens * blockTokens;
  for (uint32_t p = 1; p <= whole; ++p)
    indexed.insert(sequences[s].sums[p]);
  uint32_t every = (options.checkpointTokens + blockTokens - 1) / blockTokens * blockTokens;
  for (uint32_t p = every; every != 0 && p <= whole; p += every)
    if (p > from)
      mark(s, p);
}

std::string KvModel::checkSequence(uint32_t s) const {
  const Sequence &now = sequences[s];
  for (uint32_t g = 0; g < groups.size(); ++g) {
    uint32_t position = kv.position(s), seen = windowStart(groups[g].window, position);
    // A window of one never reads what it wrote: a block may begin with nothing.
    for (uint32_t p = groups[g].window == 1 ? seen : 0; p < position; ++p) {
      for (uint32_t slot = 0; block(s, g, p) >= 0 && slot < groups[g].slots; ++slot)
        if (place(s, g, slot, p) != uint32_t(mix(now.sums[p + 1], 2 * g + slot)))
          return fmt::format(
              "sequence {} at {}: position {} of group {}, slot {} holds something else", s,
              position, p, g, slot);
      if (block(s, g, p) < 0 && p >= seen)
        return fmt::format("sequence {} at {}: position {} of group {} is missing", s, position, p,
                           g);
    }
  }
  return "";
}

std::string KvModel::check() const {
  for (uint32_t s = 0; s < sequences.size(); ++s)
    if (sequences[s].runs)
      if (std::string wrong = checkSequence(s); !wrong.empty())
        return wrong;
  for (uint32_t g = 0; g < groups.size(); ++g) {
    std::set<int32_t> held;
    for (uint32_t s = 0; s < sequences.size(); ++s)
      for (uint32_t p = 0; p < options.context; p += groups[g].block_tokens)
        if (block(s, g, p) >= 0)
          held.insert(block(s, g, p));
    KvGroupStats stats = kv.groupStats(g);
    if (held.size() != stats.held || stats.free + stats.held + stats.cached != stats.blocks)
      return fmt::format("group {}: {} blocks in tables; of {} are {} free, {} held, {} cached", g,
                         held.size(), stats.blocks, stats.free, stats.held, stats.cached);
  }
  return "";
}

std::string KvModel::finish() {
  for (uint32_t s = 0; s < sequences.size(); ++s)
    end(s);
  if (std::string wrong = check(); !wrong.empty())
    return wrong;
  kv.dropPrefixes();
  for (uint32_t g = 0; g < groups.size(); ++g)
    if (KvGroupStats stats = kv.groupStats(g); stats.free != stats.blocks)
      return fmt::format("group {}: {} of {} blocks are lost", g, stats.blocks - stats.free,
                         stats.blocks);
  return "";
}

} // namespace inf::test
