// Running compiled models and comparing what they give.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/session/Session.h"

namespace inf::test {

struct SessionSetup {
  uint32_t context = 1024;
  uint32_t sequences = 1;
  unsigned threads = 1;
  bool taps = false;
  bool prefixes = false;
  uint64_t kvBytes = 0;
  uint32_t checkpointTokens = 1024;
  EvictionPolicy eviction = EvictionPolicy::CostAware;
};
std::unique_ptr<Session> openSession(const std::string &model, const SessionSetup &setup = {});

/// Logits of every token, one after the other: [tokens][vocabulary].
using AllLogits = std::vector<float>;

/// Feeds `tokens` in chunks (0: as large as the model takes) and keeps all logits.
AllLogits prefillLogits(Session &session, uint32_t sequence, std::span<const int32_t> tokens,
                        uint32_t chunk = 0);
/// The same in a session of its own.
AllLogits soloLogits(const std::string &model, std::span<const int32_t> tokens,
                     const SessionSetup &setup = {}, uint32_t chunk = 0);

/// Feeds `tokens` in the largest steps and keeps the logits at `positions` (ascending), one after
/// the other.
AllLogits logitsAt(Session &session, std::span<const int32_t> tokens,
                   std::span<const int64_t> positions);

int32_t highest(std::span<const float> logits);
double largestDifference(std::span<const float> a, std::span<const float> b);
/// Bits, not values: NaN equals itself and 0 differs from -0.
bool sameBits(std::span<const float> a, std::span<const float> b);

} // namespace inf::test
