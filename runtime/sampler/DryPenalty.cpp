#include "runtime/sampler/DryPenalty.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace inf {
namespace {

constexpr double mostPenalty = 1e9;

} // namespace

DryPenalty::DryPenalty(const SamplingOptions &options, size_t capacity)
    : multiplier(double(options.dryMultiplier)), base(double(options.dryBase)),
      allowed(size_t(options.dryAllowedLength)), breaker(capacity),
      window(size_t(options.dryWindow)), lengths(size_t(options.dryWindow)), longest(capacity) {
  for (int32_t id : options.dryBreakers)
    breaker[size_t(id)] = true;
}

/// How many of the newest tokens come before a breaker is met: no run is longer.
size_t DryPenalty::usableTail() const {
  size_t tail = 0;
  while (tail < window.size() && !breaker[size_t(window.fromEnd(tail))])
    ++tail;
  return tail;
}

/// The Z function (Gusfield 1997, section 1.3) of the window read backwards: lengths[i] is how far
/// the text that starts i tokens before the newest, read backwards, equals that from the newest on.
void DryPenalty::matchLengths(size_t tail) {
  size_t size = window.size(), left = 0,
         right = 0; // [left, right): the match that reaches furthest
  for (size_t i = 1; i < size; ++i) {
    size_t length = i < right ? std::min<size_t>(right - i, lengths[i - left]) : 0;
    while (i + length < size && length < tail &&
           window.fromEnd(length) == window.fromEnd(i + length))
      ++length;
    lengths[i] = uint32_t(length);
    if (i + length > right) {
      left = i;
      right = i + length;
    }
  }
}

void DryPenalty::apply(std::span<float> logits) {
  size_t tail = usableTail();
  if (tail < allowed)
    return;
  matchLengths(tail);
  for (size_t i = 1; i < window.size(); ++i) {
    size_t next = size_t(window.fromEnd(i - 1)); // what followed the run that ended i tokens back
    if (lengths[i] >= allowed && !breaker[next])
      longest[next] = std::max(longest[next], lengths[i]);
  }
  for (size_t i = 1; i < window.size(); ++i) {
    size_t next = size_t(window.fromEnd(i - 1));
    uint32_t length = std::exchange(longest[next], 0);
    if (length == 0 || next >= logits.size())
      continue;
    double penalty = multiplier * std::pow(base, double(length - allowed));
    logits[next] = float(double(logits[next]) - std::min(penalty, mostPenalty));
  }
}

} // namespace inf
