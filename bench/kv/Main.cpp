// What the KV cache costs and what its eviction policies find. No model: blocks of gpt-oss-20b's
// sizes (costs), or small ones that stand for them (hit rates).
#include <algorithm>
#include <chrono>
#include <string>

#include <fmt/format.h>

#include "bench/kv/Workload.h"
#include "runtime/kv/KvCache.h"

using namespace inf;
using namespace inf::bench;

namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::time_point from) {
  return std::chrono::duration<double, std::micro>(Clock::now() - from).count();
}

inf_kv_group group(uint32_t window, uint32_t slots, uint64_t bytesPerPosition) {
  inf_kv_group made = {};
  made.struct_bytes = sizeof made;
  made.block_tokens = 64;
  made.window = window;
  made.slots = slots;
  made.slot_bytes = 64 * bytesPerPosition;
  made.block_bytes = slots * made.slot_bytes;
  return made;
}

constexpr uint32_t rowsOfStep = 256;

/// Runs the rest of a prompt in steps, as a session does; false when there is no memory.
bool prefill(KvCache &kv, uint32_t sequence, std::span<const int32_t> prompt) {
  while (kv.position(sequence) < prompt.size()) {
    auto rest = prompt.subspan(kv.position(sequence));
    auto count = static_cast<uint32_t>(std::min<size_t>(rowsOfStep, rest.size()));
    if (kv.roomFor(sequence, count) < count)
      return false;
    kv.extend(sequence, count);
    for (uint32_t i = 0; i < count; ++i) // a session appends row by row
      kv.append(sequence, rest.subspan(i, 1));
    kv.commit(sequence, kv.position(sequence));
  }
  return true;
}

bool decode(KvCache &kv, uint32_t sequence, std::span<const int32_t> tokens) {
  for (const int32_t &token : tokens) {
    if (kv.roomFor(sequence, 1) < 1)
      return false;
    kv.extend(sequence, 1);
    kv.append(sequence, {&token, 1});
    kv.commit(sequence, kv.position(sequence));
  }
  return true;
}

struct Costs {
  double attachMiss = 1e30, prefill = 1e30, checkpoint = 1e30, release = 1e30, attachHit = 1e30,
         attachCopy = 1e30, token = 1e30;
};

/// Microseconds, the least of several rounds.
Costs measureCosts(std::span<const inf_kv_group> groups, uint32_t promptTokens) {
  KvCacheOptions options;
  options.sequences = 2;
  options.context = promptTokens + 1024;
  options.maxRows = rowsOfStep;
  options.prefixes = true;
  KvCache kv(groups, options);
  std::vector<int32_t> prompt(promptTokens), answer(512, 5);
  Costs least;
  auto take = [](double &best, Clock::time_point from) {
    best = std::min(best, microseconds(from));
  };
  for (int round = 0; round < 9; ++round) {
    for (size_t i = 0; i < prompt.size(); ++i)
      prompt[i] = static_cast<int32_t>(i * 7919 % 200000 + size_t(round));
    auto start = Clock::now();
    kv.attach(0, prompt, 0);
    take(least.attachMiss, start);
    start = Clock::now();
    prefill(kv, 0, prompt);
    take(least.prefill, start);
    start = Clock::now();
    kv.checkpoint(0);
    take(least.checkpoint, start);
    start = Clock::now();
    decode(kv, 0, answer);
    least.token = std::min(least.token, microseconds(start) / static_cast<double>(answer.size()));
    start = Clock::now();
    kv.release(0);
    take(least.release, start);
    std::vector<int32_t> next = prompt; // of whole blocks: nothing to copy
    next.push_back(1);
    start = Clock::now();
    uint32_t hit = kv.attach(1, next, 0);
    take(least.attachHit, start);
    kv.release(1);
    start = Clock::now();
    uint32_t copied = kv.attach(1, prompt, 0); // its last token runs again: a copy in each group
    take(least.attachCopy, start);
    kv.release(1);
    if (hit != promptTokens || copied != promptTokens - 1)
      fmt::print(stderr, "bench_kv: the hits were {} and {} of {}\n", hit, copied, promptTokens);
    kv.dropPrefixes();
  }
  return least;
}

void printCosts(double stepMilliseconds) {
  const inf_kv_group groups[] = {group(0, 12, 2 * 8 * 64 * 2), group(128, 12, 2 * 8 * 64 * 2)};
  const uint32_t tokens = 16384;
  Costs costs = measureCosts(groups, tokens);
  auto row = [&](const char *what, double micro) {
    fmt::print("{:<58} {:10.2f} us {:8.4f} % of a step\n", what, micro,
               micro / stepMilliseconds / 10);
  };
  fmt::print("a prompt of {} tokens, gpt-oss-20b's blocks; a decode step of {} ms\n", tokens,
             stepMilliseconds);
  row("attach, nothing cached", costs.attachMiss);
  row("room, blocks, tokens, index of the whole prompt", costs.prefill);
  row("  of one token of it", costs.prefill / tokens);
  row("checkpoint", costs.checkpoint);
  row("room, block, token, index of a generated token", costs.token);
  row("release", costs.release);
  row("attach, all cached, whole blocks", costs.attachHit);
  row("attach, all but a token cached: two blocks copied", costs.attachCopy);
}

/// Share of prompt tokens that were cached.
double hitRate(EvictionPolicy policy, uint64_t cacheTokens, uint64_t seed, uint32_t requests) {
  const inf_kv_group groups[] = {group(0, 1, 2), group(128, 1, 2)};
  KvCacheOptions options;
  options.context = 20000;
  options.maxRows = rowsOfStep;
  options.prefixes = true;
  options.eviction = policy;
  options.positionCost = 1e-5; // gpt-oss-20b: 24 KB of a position, 2 GB of weights
  options.bytes = cacheTokens * 2 * 2;
  KvCache kv(groups, options);
  WorkloadOptions work;
  work.seed = seed;
  Workload workload(work);
  uint64_t asked = 0, cached = 0;
  for (uint32_t i = 0; i < requests; ++i) {
    Request request = workload.next();
    uint32_t hit = kv.attach(0, request.prompt, 0);
    if (i >= requests / 4) { // when the cache is full
      asked += request.prompt.size();
      cached += hit;
    }
    if (prefill(kv, 0, request.prompt)) {
      kv.checkpoint(0);
      decode(kv, 0, request.answer);
    }
    kv.release(0);
  }
  return static_cast<double>(cached) / static_cast<double>(asked);
}

void printHitRates() {
  fmt::print("\nprompt tokens found in the cache, % (mean of 5 seeds, 4,000 requests each)\n");
  fmt::print("{:<28} {:>10} {:>8} {:>8} {:>8}\n", "cache, tokens of both groups", "cost-aware",
             "lru", "lfu", "random");
  for (uint64_t tokens : {50'000, 100'000, 200'000, 400'000, 10'000'000}) {
    fmt::print("{:<28}", tokens == 10'000'000 ? "all" : std::to_string(tokens));
    for (EvictionPolicy policy : {EvictionPolicy::CostAware, EvictionPolicy::Lru,
                                  EvictionPolicy::Lfu, EvictionPolicy::Random}) {
      double sum = 0;
      for (uint64_t seed = 1; seed <= 5; ++seed)
        sum += hitRate(policy, tokens, seed, 4000);
      fmt::print(" {:>9.1f}", sum / 5 * 100);
    }
    fmt::print("\n");
  }
}

} // namespace

int main(int count, char **arguments) {
  double step = count > 1 ? std::stod(arguments[1]) : 79; // gpt-oss-20b at 12.7 tok/s
  printCosts(step);
  printHitRates();
}
