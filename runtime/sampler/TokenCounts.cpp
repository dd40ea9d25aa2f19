#include "runtime/sampler/TokenCounts.h"

#include <limits>

namespace inf {

TokenCounts::TokenCounts(size_t capacity) : counts(capacity), place(capacity) {
  present.reserve(capacity);
}

void TokenCounts::add(int32_t id) {
  uint32_t &count = counts[size_t(id)];
  if (count == std::numeric_limits<uint32_t>::max())
    return;
  if (count++ > 0)
    return;
  place[size_t(id)] = uint32_t(present.size());
  present.push_back(id);
}

void TokenCounts::remove(int32_t id) {
  if (--counts[size_t(id)] > 0)
    return;
  uint32_t hole = place[size_t(id)];
  present[hole] = present.back();
  place[size_t(present[hole])] = hole;
  present.pop_back();
}

int32_t TokenWindow::push(int32_t id) {
  int32_t leaving = held == ring.size() ? ring[next] : -1;
  if (leaving < 0)
    ++held;
  ring[next] = id;
  next = (next + 1) % ring.size();
  return leaving;
}

} // namespace inf
