// Probabilities of tokens as the model gave them, for answers that report them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace inf {

struct TokenLogprob {
  int32_t id;
  double logprob; ///< natural logarithm of the probability; -infinity for an excluded token
};

struct RowLogprobs {
  TokenLogprob chosen;
  uint64_t rank; ///< 1 for the likeliest; equal logits rank by id
  std::vector<TokenLogprob> best;
};

/// The `n` likeliest tokens of a row, likeliest first, the lower id first among equals; all when
/// there are fewer than `n`. `logits`: [vocabulary], raw: before bias, penalties and temperature.
/// Log-softmax in double. Fails with Internal, naming the index, for NaN or +infinity, for no
/// logits, and when every logit is -infinity.
std::vector<TokenLogprob> topLogprobs(std::span<const float> logits, size_t n);

/// The same, with the chosen token's own value and rank. Fails with Internal for an id outside the
/// row too.
RowLogprobs rowLogprobs(std::span<const float> logits, int32_t chosen, size_t n);

} // namespace inf
