// A made-up day of a server: prompts that begin alike, chats of many turns, prompts of nobody else.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace inf::bench {

struct Request {
  std::vector<int32_t> prompt, answer;
};

struct WorkloadOptions {
  uint32_t systemPrompts = 20; ///< 100 to 2,000 tokens; the i-th is used in proportion to 1 / i
  uint32_t chats = 40;         ///< at a time, each of 1 to about 20 turns
  double oneOff = 0.25;        ///< share of requests that nothing else begins like
  uint64_t seed = 1;
};

/// The same requests for the same options.
class Workload {
public:
  explicit Workload(const WorkloadOptions &options);
  Request next();

private:
  struct Chat {
    std::vector<int32_t> text;
  };
  std::vector<int32_t> tokens(uint32_t least, uint32_t most);
  Chat newChat();

  WorkloadOptions options;
  std::mt19937_64 random;
  std::vector<std::vector<int32_t>> systemPrompts;
  std::discrete_distribution<size_t> popularity;
  std::vector<Chat> chats;
};

} // namespace inf::bench
