#include "runtime/sampler/Sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/Error.h"

namespace inf {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The index of the highest logit, the lowest among equals; checks what Sampler::sample promises.
int32_t highestOf(std::span<const float> logits) {
  size_t best = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] < infinity)) // NaN too
      fail(ErrorCode::Internal,
           "logit {} of {} is {}, expected a number or -infinity; the model's output is broken", i,
           logits.size(), logits[i]);
    if (logits[i] > logits[best])
      best = i;
  }
  if (logits[best] == -infinity)
    fail(ErrorCode::Internal,
         "all {} logits are -infinity, expected at least one token to be possible", logits.size());
  return int32_t(best);
}

/// Ids are int32_t, so no more can be told apart.
size_t checkedCapacity(size_t maxVocabulary) {
  constexpr size_t most = size_t(std::numeric_limits<int32_t>::max());
  if (maxVocabulary == 0 || maxVocabulary > most)
    fail(ErrorCode::Internal, "a sampler for {} tokens was asked for, expected 1 to {}",
         maxVocabulary, most);
  return maxVocabulary;
}

} // namespace

Sampler::Sampler(const SamplingOptions &samplingOptions, size_t maxVocabulary)
    : options(samplingOptions), random(samplingOptions.seed),
      capacity(checkedCapacity(maxVocabulary)) {
  options.validate();
  if (options.temperature > 0)
    candidates.reserve(capacity);
}

int32_t Sampler::sample(std::span<const float> logits) {
  if (logits.empty() || logits.size() > capacity)
    fail(ErrorCode::Internal, "{} logits were given, expected 1 to {} (the vocabulary)",
         logits.size(), capacity);
  int32_t best = highestOf(logits);
  if (options.temperature == 0)
    return best;
  gather(logits);
  keepTopK();
  weigh(logits[size_t(best)]);
  keepTopP();
  keepMinP();
  return draw();
}

void Sampler::gather(std::span<const float> logits) {
  candidates.clear();
  sorted = false;
  for (size_t i = 0; i < logits.size(); ++i)
    if (logits[i] > -infinity)
      candidates.push_back({logits[i], int32_t(i), 0});
}

void Sampler::keepTopK() {
  size_t k = size_t(options.topK);
  if (k == 0 || k >= candidates.size())
    return;
  auto end = candidates.begin() + ptrdiff_t(k);
  std::nth_element(candidates.begin(), end, candidates.end(), likelier);
  candidates.erase(end, candidates.end());
  // nth_element leaves an order of its library's choice; which token a random number means must not
  // depend on that.
  std::sort(candidates.begin(), candidates.end(), likelier);
  sorted = true;
}

void Sampler::weigh(float highest) {
  double scale = 1.0 / double(options.temperature);
  for (Candidate &candidate : candidates)
    candidate.weight = std::exp((double(candidate.logit) - double(highest)) * scale);
}

/// A heap yields the likeliest tokens one by one; usually few of the whole vocabulary are needed.
void Sampler::keepTopP() {
  if (options.topP >= 1)
    return;
  double needed = 0;
  for (const Candidate &candidate : candidates)
    needed += candidate.weight;
  needed *= double(options.topP);

  // A heap's top is its greatest element, so it is ordered by "less likely".
  auto lessLikely = [](const Candidate &a, const Candidate &b) { return likelier(b, a); };
  if (!sorted)
    std::make_heap(candidates.begin(), candidates.end(), lessLikely);
  size_t kept = 0;
  for (double reached = 0; kept < candidates.size() && reached < needed; ++kept) {
    if (!sorted) // moves the likeliest of the rest behind the rest, which shrinks by one
      std::pop_heap(candidates.begin(), candidates.end() - ptrdiff_t(kept), lessLikely);
    size_t at = sorted ? kept : candidates.size() - 1 - kept;
    reached += candidates[at].weight;
  }
  if (!sorted)
    std::reverse(candidates.begin(), candidates.end());
  candidates.erase(candidates.begin() + ptrdiff_t(kept), candidates.end());
  sorted = true;
}

void Sampler::keepMinP() {
  // The likeliest token always stays and has weight 1.
  double least = double(options.minP);
  if (least > 0)
    std::erase_if(candidates, [&](const Candidate &c) { return c.weight < least; });
}

int32_t Sampler::draw() {
  double total = 0;
  for (const Candidate &candidate : candidates)
    total += candidate.weight;
  double target = random.nextUnit() * total, reached = 0;
  for (const Candidate &candidate : candidates) {
    reached += candidate.weight;
    if (target < reached)
      return candidate.id;
  }
  // Rounding can leave target == total; both sums run in the same order, so only then.
  auto last = std::find_if(candidates.rbegin(), candidates.rend(),
                           [](const Candidate &c) { return c.weight > 0; });
  return last->id;
}

} // namespace inf
