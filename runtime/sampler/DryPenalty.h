// DRY, "don't repeat yourself": the penalty of tokens that would go on with a repeated run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/sampler/SamplingOptions.h"
#include "runtime/sampler/TokenCounts.h"

namespace inf {

/// The sampler of P. E. Weidmann (oobabooga/text-generation-webui, pull request 5677). For every
/// place in the window, L is the number of tokens before it that equal, one by one, the tokens at
/// the end; runs hold no breaker. The token at that place, unless it is a breaker, would make the
/// run longer; its logit falls by multiplier * base^(L - allowed length) for the largest such L
/// that is at least the allowed length. A penalty is at most 1e9, so that it stays a number.
class DryPenalty {
public:
  /// All memory is taken here.
  DryPenalty(const SamplingOptions &options, size_t capacity);

  void push(int32_t id) { window.push(id); }
  /// Lowers `logits`; ids beyond them are left alone. In the window's length, linear.
  void apply(std::span<float> logits);

private:
  size_t usableTail() const;
  void matchLengths(size_t tail);

  double multiplier, base;
  size_t allowed;
  std::vector<bool> breaker; ///< [capacity]
  TokenWindow window;
  std::vector<uint32_t> lengths; ///< [window], L of the place that many tokens before the end
  std::vector<uint32_t> longest; ///< [capacity], by token; 0 between calls
};

} // namespace inf
