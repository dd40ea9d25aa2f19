#include "runtime/engine/LogitRanks.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace inf {

LogitRanks::LogitRanks(std::span<const float> logits, int32_t token, uint32_t n) {
  double highest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float logit : logits)
    sum += std::exp(double{logit} - highest);
  double shift = highest + std::log(sum);
  chosen = double{logits[static_cast<size_t>(token)]} - shift;
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  auto likelier = [&](int32_t a, int32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  auto end = ids.begin() + std::min<ptrdiff_t>(n, std::ssize(ids));
  std::partial_sort(ids.begin(), end, ids.end(), likelier);
  for (auto id = ids.begin(); id != end; ++id)
    likeliest.push_back({*id, double{logits[static_cast<size_t>(*id)]} - shift});
}

} // namespace inf
