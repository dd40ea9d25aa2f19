#include "runtime/sampler/HighestLogit.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "runtime/base/Error.h"

namespace inf {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr size_t lanes = 16;       // side by side: a compiler makes vector instructions of them
constexpr size_t blockSize = 2048; // 8 KiB: still in the first cache when it is looked at again

struct Highest {
  float value = -infinity;
  bool broken = false; ///< NaN or +infinity was seen
};

Highest highestOf(std::span<const float> block) {
  float highest[lanes];
  std::fill(highest, highest + lanes, -infinity);
  int fine[lanes];
  std::fill(fine, fine + lanes, 1);
  size_t i = 0;
  for (; i + lanes <= block.size(); i += lanes)
    for (size_t lane = 0; lane < lanes; ++lane) {
      float value = block[i + lane];
      highest[lane] = value > highest[lane] ? value : highest[lane];
      fine[lane] &= value < infinity; // false for NaN too
    }
  Highest result;
  for (size_t lane = 0; lane < lanes; ++lane) {
    result.value = std::max(result.value, highest[lane]);
    result.broken |= fine[lane] == 0;
  }
  for (; i < block.size(); ++i) {
    result.value = std::max(result.value, block[i]);
    result.broken |= !(block[i] < infinity);
  }
  return result;
}

[[noreturn]] void failAtBroken(std::span<const float> logits, size_t from) {
  size_t i = from;
  while (logits[i] < infinity)
    ++i;
  fail(ErrorCode::Internal,
       "logit {} of {} is {}, expected a number or -infinity; the model's output is broken", i,
       logits.size(), logits[i]);
}

} // namespace

int32_t highestLogit(std::span<const float> logits) {
  if (logits.empty())
    fail(ErrorCode::Internal, "0 logits were given, expected one for each token");
  float highest = -infinity;
  size_t block = 0;
  for (size_t start = 0; start < logits.size(); start += blockSize) {
    Highest here = highestOf(logits.subspan(start, std::min(blockSize, logits.size() - start)));
    if (here.broken)
      failAtBroken(logits, start);
    if (here.value > highest) {
      highest = here.value;
      block = start;
    }
  }
  if (highest == -infinity)
    fail(ErrorCode::Internal,
         "all {} logits are -infinity, expected at least one token to be possible", logits.size());
  return int32_t(std::find(logits.begin() + ptrdiff_t(block), logits.end(), highest) -
                 logits.begin());
}

} // namespace inf
