#pragma once

#include <span>
#include <vector>

#include "runtime/engine/CompletionService.h"

namespace inf {

/// Log-probabilities of a row of raw logits: log softmax, in double.
struct LogitRanks {
  /// `logits`: [vocabulary]; of `token`, and of the `n` likeliest (the lower id first among
  /// equals).
  LogitRanks(std::span<const float> logits, int32_t token, uint32_t n);

  double chosen = 0;
  std::vector<TokenLogprob> likeliest; // [n], likeliest first
};

} // namespace inf
