#pragma once

#include <cstdint>

#include "runtime/cpu/ThreadPlan.h"

namespace inf {

struct EngineOptions {
  uint32_t sequences = 8;  ///< running at a time
  uint32_t queue = 64;     ///< waiting besides, at most
  uint32_t context = 0;    ///< tokens of a sequence; 0: the model's
  uint64_t kvBytes = 0;    ///< of keys and values; 0: see defaultKvBytes()
  bool prefixes = true;    ///< cached prefixes are shared
  uint32_t stepTokens = 0; ///< rows of a step at most; 0: what the model's plan holds
  double stepSeconds = 1;  ///< a step's aim; a cancel waits for one
  double paceFactor = 3;   ///< how many times slower streams may get while prompts arrive
  /// Room that running requests may still grow into before another starts; less runs more requests
  /// at a time and preempts more.
  uint32_t growthTokens = 64;
  ThreadPlan threads;
  bool threadsFollowMemory = false; ///< SessionOptions::threadsFollowMemory
};

} // namespace inf
