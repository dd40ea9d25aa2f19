// How surprising a token was.
#pragma once

#include <cstdint>
#include <span>

namespace inf {

/// -log softmax(logits)[token] in nats: log(sum exp(logit - highest)) - (logit[token] - highest),
/// in double. `logits`: [vocabulary]. Fails with Usage for an unknown token and with Internal,
/// naming the index, for a logit that is NaN or +infinity.
double negativeLogLikelihood(std::span<const float> logits, int32_t token);

} // namespace inf
