// How the next token is chosen from the logits.
#pragma once

#include <cstdint>

namespace inf {

struct SamplingOptions {
  float temperature = 0; ///< 0: always the likeliest token; else logits are divided by it; 0 to 100
  int topK = 0;          ///< keep the K likeliest tokens; 0: all
  float topP = 1;        ///< keep the likeliest tokens that together reach probability P; (0, 1]
  float minP = 0;        ///< keep tokens at least P times as likely as the likeliest; [0, 1]
  uint64_t seed = 0;     ///< the same seed, options and logits give the same tokens

  /// Fails with Usage, naming the flag, its value and its range.
  void validate() const;
};

} // namespace inf
