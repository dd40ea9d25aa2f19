#include "runtime/sampler/Logprobs.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/Error.h"
#include "runtime/sampler/HighestLogit.h"

namespace inf {
namespace {

/// log(sum exp(logit)), the highest logit taken out so that nothing overflows.
double logSum(std::span<const float> logits) {
  double highest = double(logits[size_t(highestLogit(logits))]);
  double sum = 0;
  for (float logit : logits)
    sum += std::exp(double(logit) - highest);
  return highest + std::log(sum);
}

/// A heap of the n likeliest so far, its top the least likely of them: one pass over the row.
std::vector<TokenLogprob> likeliest(std::span<const float> logits, size_t n, double sum) {
  auto likelier = [&](int32_t a, int32_t b) {
    float left = logits[size_t(a)], right = logits[size_t(b)];
    return left != right ? left > right : a < b;
  };
  std::vector<int32_t> ids;
  ids.reserve(std::min(n, logits.size()));
  for (size_t i = 0; i < logits.size() && n > 0; ++i) {
    if (ids.size() == n) {
      if (!(logits[i] > logits[size_t(ids.front())]))
        continue;
      std::pop_heap(ids.begin(), ids.end(), likelier);
      ids.pop_back();
    }
    ids.push_back(int32_t(i));
    std::push_heap(ids.begin(), ids.end(), likelier);
  }
  std::sort(ids.begin(), ids.end(), likelier);
  std::vector<TokenLogprob> best;
  for (int32_t id : ids)
    best.push_back({id, double(logits[size_t(id)]) - sum});
  return best;
}

} // namespace

std::vector<TokenLogprob> topLogprobs(std::span<const float> logits, size_t n) {
  return likeliest(logits, n, logSum(logits));
}

RowLogprobs rowLogprobs(std::span<const float> logits, int32_t chosen, size_t n) {
  if (chosen < 0 || size_t(chosen) >= logits.size())
    fail(ErrorCode::Internal, "the log probability of token {} was asked for, expected 0 to {}",
         chosen, ptrdiff_t(logits.size()) - 1);
  double sum = logSum(logits);
  float own = logits[size_t(chosen)];
  uint64_t before = 0;
  for (size_t i = 0; i < logits.size(); ++i)
    before += logits[i] > own || (logits[i] == own && i < size_t(chosen));
  return {{chosen, double(own) - sum}, before + 1, likeliest(logits, n, sum)};
}

} // namespace inf
