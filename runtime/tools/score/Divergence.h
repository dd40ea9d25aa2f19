// What one model makes of a token, beside what another does.
#pragma once

#include <cstdint>
#include <span>

namespace inf {

struct TokenComparison {
  double modelNll = 0, referenceNll = 0; ///< nats, of the token that follows
  /// Kullback-Leibler divergence KL(reference || model) of the distributions of the next token, in
  /// nats: sum of p (log p - log q), p the reference's. What is lost by taking q for p; 0 when they
  /// are equal, infinite when the model rules out a token that the reference does not.
  double divergence = 0;
  bool sameTop = false; ///< both find the same token likeliest, the lowest id among equals
};

/// Softmax in double of both [vocabulary]; `token` is the one that follows. Fails with Usage for an
/// unknown token or vocabularies of two sizes, and with Internal, naming the index, for a logit
/// that is NaN or +infinity.
TokenComparison compareLogits(std::span<const float> model, std::span<const float> reference,
                              int32_t token);

} // namespace inf
