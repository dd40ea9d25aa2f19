#include "runtime/sampler/Candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace inf {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
// Up to here a heap of the k best is faster than partitioning all: most tokens cost a comparison.
constexpr size_t heapIsFasterUpTo = 2048;

} // namespace

Candidates::Candidates(size_t capacity, bool withTypical) {
  tokens.reserve(capacity);
  if (withTypical)
    shifts.reserve(capacity);
}

void Candidates::gather(std::span<const float> logits) {
  tokens.clear();
  sorted = false;
  for (size_t i = 0; i < logits.size(); ++i)
    if (logits[i] > -infinity)
      tokens.push_back({logits[i], int32_t(i), 0});
}

double Candidates::totalWeight() const {
  double total = 0;
  for (const Candidate &token : tokens)
    total += token.weight;
  return total;
}

void Candidates::keepTopNSigma(double n, float highest) {
  // Below the highest, so that the squares of large logits of one sign don't cancel.
  double sum = 0, squares = 0, count = double(tokens.size());
  for (const Candidate &token : tokens) {
    double below = double(highest) - double(token.logit);
    sum += below;
    squares += below * below;
  }
  double mean = sum / count;
  double sigma = std::sqrt(std::max(0.0, squares / count - mean * mean));
  double most = n * sigma;
  std::erase_if(
      tokens, [&](const Candidate &token) { return double(highest) - double(token.logit) > most; });
}

void Candidates::weigh(float temperature, float highest) {
  double scale = 1.0 / double(temperature);
  for (Candidate &token : tokens)
    token.weight = std::exp((double(token.logit) - double(highest)) * scale);
}

void Candidates::keepTopK(size_t k) {
  if (k >= tokens.size())
    return;
  auto middle = tokens.begin() + ptrdiff_t(k);
  if (k <= heapIsFasterUpTo) {
    std::partial_sort(tokens.begin(), middle, tokens.end(), likelier);
  } else {
    std::nth_element(tokens.begin(), middle, tokens.end(), likelier);
    // nth_element leaves an order of its library's choice, which must not decide what a random
    // number means.
    std::sort(tokens.begin(), middle, likelier);
  }
  tokens.erase(middle, tokens.end());
  sorted = true;
}

void Candidates::keepTypicalP(double p) {
  double total = totalWeight(), entropy = 0;
  shifts.clear();
  for (size_t i = 0; i < tokens.size(); ++i)
    if (double share = tokens[i].weight / total; share > 0) { // 0 is never typical
      shifts.push_back({-std::log(share), uint32_t(i)});
      entropy += share * shifts.back().distance;
    }
  for (Shift &shift : shifts)
    shift.distance = std::abs(shift.distance - entropy);

  auto lessTypical = [&](const Shift &a, const Shift &b) {
    return a.distance != b.distance ? a.distance > b.distance
                                    : likelier(tokens[b.index], tokens[a.index]);
  };
  std::make_heap(shifts.begin(), shifts.end(), lessTypical);
  double reached = 0;
  size_t kept = 0;
  for (; kept < shifts.size() && reached < p * total; ++kept) {
    std::pop_heap(shifts.begin(), shifts.end() - ptrdiff_t(kept), lessTypical);
    reached += tokens[shifts[shifts.size() - 1 - kept].index].weight;
  }
  // Kept in the order in which they stood, which the candidates' own order defines.
  auto firstKept = shifts.end() - ptrdiff_t(kept);
  std::sort(firstKept, shifts.end(),
            [](const Shift &a, const Shift &b) { return a.index < b.index; });
  size_t to = 0;
  for (auto shift = firstKept; shift != shifts.end(); ++shift)
    tokens[to++] = tokens[shift->index];
  tokens.erase(tokens.begin() + ptrdiff_t(to), tokens.end());
}

/// A heap yields the likeliest tokens one by one; usually few of the whole vocabulary are needed.
void Candidates::keepTopP(double p) {
  double total = totalWeight(), needed = p * total;
  if (!sorted) // what is left out here is so little that the others reach p without it
    keepAbove(0.99 * (1 - p) * total / double(tokens.size()));
  // A heap's top is its greatest element, so it is ordered by "less likely".
  auto lessLikely = [](const Candidate &a, const Candidate &b) { return likelier(b, a); };
  if (!sorted)
    std::make_heap(tokens.begin(), tokens.end(), lessLikely);
  size_t kept = 0;
  for (double reached = 0; kept < tokens.size() && reached < needed; ++kept) {
    if (!sorted) // moves the likeliest of the rest behind the rest, which shrinks by one
      std::pop_heap(tokens.begin(), tokens.end() - ptrdiff_t(kept), lessLikely);
    reached += tokens[sorted ? kept : tokens.size() - 1 - kept].weight;
  }
  if (!sorted)
    std::reverse(tokens.begin(), tokens.end());
  tokens.erase(tokens.begin() + ptrdiff_t(kept), tokens.end());
  sorted = true;
}

void Candidates::keepAbove(double least) {
  std::erase_if(tokens, [&](const Candidate &token) { return token.weight < least; });
}

void Candidates::keepMinP(double p) {
  double highest = 0;
  for (const Candidate &token : tokens)
    highest = std::max(highest, token.weight);
  keepAbove(p * highest);
}

void Candidates::excludeTopChoices(double threshold) {
  double least = threshold * totalWeight();
  const Candidate *stays = nullptr;
  for (const Candidate &token : tokens)
    if (token.weight >= least && (!stays || likelier(*stays, token)))
      stays = &token;
  if (!stays)
    return;
  int32_t kept = stays->id;
  std::erase_if(tokens,
                [&](const Candidate &token) { return token.weight >= least && token.id != kept; });
}

void Candidates::keepSurpriseBelow(double limit) {
  double least = totalWeight() * std::exp2(-limit), highest = 0;
  for (const Candidate &token : tokens)
    highest = std::max(highest, token.weight);
  keepAbove(std::min(least, highest));
}

Candidates::Draw Candidates::draw(double unit) const {
  double total = totalWeight(), target = unit * total, reached = 0;
  for (const Candidate &token : tokens) {
    reached += token.weight;
    if (target < reached)
      return {token.id, token.weight / total};
  }
  // Rounding can leave target == total; both sums run in the same order, so only then.
  auto last = std::find_if(tokens.rbegin(), tokens.rend(),
                           [](const Candidate &token) { return token.weight > 0; });
  return {last->id, last->weight / total};
}

} // namespace inf
