#include "runtime/session/LogLikelihood.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/Error.h"

namespace inf {

double negativeLogLikelihood(std::span<const float> logits, int32_t token) {
  if (token < 0 || static_cast<uint64_t>(token) >= logits.size())
    fail(ErrorCode::Usage, "token id {} is unknown: there are {} logits.", token, logits.size());
  float highest = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || logits[i] == std::numeric_limits<float>::infinity())
      fail(ErrorCode::Internal, "logit {} is {}: the model computed nonsense.", i, logits[i]);
    highest = std::max(highest, logits[i]);
  }
  double sum = 0;
  for (float logit : logits)
    sum += std::exp(static_cast<double>(logit) - highest);
  return std::log(sum) - (static_cast<double>(logits[token]) - highest);
}

} // namespace inf
