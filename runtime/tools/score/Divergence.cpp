#include "runtime/tools/score/Divergence.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/Error.h"

namespace inf {
namespace {

struct Highest {
  size_t index = 0;
  double logit = -std::numeric_limits<double>::infinity();
};

Highest highestOf(std::span<const float> logits) {
  Highest highest;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || logits[i] == std::numeric_limits<float>::infinity())
      fail(ErrorCode::Internal, "logit {} is {}: the model computed nonsense.", i, logits[i]);
    if (logits[i] > highest.logit)
      highest = {i, logits[i]};
  }
  return highest;
}

} // namespace

TokenComparison compareLogits(std::span<const float> model, std::span<const float> reference,
                              int32_t token) {
  if (model.size() != reference.size() || model.empty())
    fail(ErrorCode::Usage, "{} logits can't be compared with {}.", model.size(), reference.size());
  if (token < 0 || static_cast<uint64_t>(token) >= model.size())
    fail(ErrorCode::Usage, "token id {} is unknown: there are {} logits.", token, model.size());
  const Highest m = highestOf(model), r = highestOf(reference);
  double modelSum = 0, referenceSum = 0;
  double weighted = 0; // sum of exp(reference) times the distance of the two logits
  for (size_t i = 0; i < model.size(); ++i) {
    const double q = model[i] - m.logit, p = reference[i] - r.logit, share = std::exp(p);
    modelSum += std::exp(q);
    referenceSum += share;
    if (share > 0) // 0 times infinity is no loss
      weighted += share * (p - q);
  }
  TokenComparison result;
  result.modelNll = std::log(modelSum) - (model[token] - m.logit);
  result.referenceNll = std::log(referenceSum) - (reference[token] - r.logit);
  // log p - log q = (p - q of the logits) - log referenceSum + log modelSum. Rounding alone can
  // bring the sum below 0.
  result.divergence =
      std::max(0.0, weighted / referenceSum - std::log(referenceSum) + std::log(modelSum));
  result.sameTop = m.index == r.index;
  return result;
}

} // namespace inf
