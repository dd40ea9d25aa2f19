// What `infrun score` counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tools/score/Divergence.h"

namespace inf {

/// How well one model predicts.
struct Score {
  double sum = 0; ///< nats
  uint64_t tokens = 0, sequences = 0;
  double seconds = 0;

  double mean() const { return sum / static_cast<double>(tokens); }
  double perplexity() const;
};

/// A model against a reference on the same tokens.
struct Comparison {
  Score model, reference;
  std::vector<double> divergences; ///< of each token counted, nats
  uint64_t sameTop = 0;            ///< of them

  void add(const TokenComparison &token);
  double meanDivergence() const;
  /// The divergence that `share` (0 to 1) of the tokens are at or below.
  double divergenceAt(double share) const;
  double agreement() const; ///< share of tokens with the same likeliest successor
};

/// `input`: what was scored, "raw text" or "token ids".
std::string scoreText(const Score &score, std::string_view input);
std::string scoreJson(const Score &score, std::string_view input);
/// `reference`: its path.
std::string comparisonText(const Comparison &comparison, std::string_view input,
                           std::string_view reference);
std::string comparisonJson(const Comparison &comparison, std::string_view input,
                           std::string_view reference);

} // namespace inf
