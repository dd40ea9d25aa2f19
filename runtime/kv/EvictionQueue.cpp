#include "runtime/kv/EvictionQueue.h"

#include <algorithm>

namespace inf {

EvictionQueue::EvictionQueue(EvictionPolicy evictionPolicy, uint32_t capacity)
    : policy(evictionPolicy), things(capacity) {
  heap.reserve(capacity);
}

void EvictionQueue::use(uint32_t thing) {
  Thing &t = things[thing];
  t.lastUse = ++now;
  ++t.uses;
  t.level = level;
  if (t.place >= 0)
    settle(static_cast<size_t>(t.place));
}

void EvictionQueue::offer(uint32_t thing, double worth) {
  Thing &t = things[thing];
  t.worth = worth;
  if (t.place < 0) {
    heap.push_back(thing);
    t.place = static_cast<int32_t>(heap.size() - 1);
  }
  settle(static_cast<size_t>(t.place));
}

void EvictionQueue::withdraw(uint32_t thing) {
  if (things[thing].place < 0)
    return;
  auto place = static_cast<size_t>(things[thing].place);
  things[thing].place = -1;
  uint32_t last = heap.back();
  heap.pop_back();
  if (place == heap.size())
    return;
  set(place, last);
  settle(place);
}

void EvictionQueue::forget(uint32_t thing) {
  withdraw(thing);
  things[thing] = {};
}

uint32_t EvictionQueue::victim() {
  size_t place = policy == EvictionPolicy::Random ? nextRandom() % heap.size() : 0;
  uint32_t thing = heap[place];
  if (policy == EvictionPolicy::CostAware)
    level = std::max(level, things[thing].level + things[thing].worth);
  withdraw(thing);
  return thing;
}

/// Whether `a` goes before `b`.
bool EvictionQueue::before(uint32_t a, uint32_t b) const {
  const Thing &x = things[a], &y = things[b];
  if (policy == EvictionPolicy::CostAware && x.level + x.worth != y.level + y.worth)
    return x.level + x.worth < y.level + y.worth;
  if (policy == EvictionPolicy::Lfu && x.uses != y.uses)
    return x.uses < y.uses;
  return x.lastUse < y.lastUse;
}

void EvictionQueue::set(size_t place, uint32_t thing) {
  heap[place] = thing;
  things[thing].place = static_cast<int32_t>(place);
}

void EvictionQueue::settle(size_t place) {
  uint32_t thing = heap[place];
  rise(place);
  sink(static_cast<size_t>(things[thing].place));
}

void EvictionQueue::rise(size_t place) {
  uint32_t thing = heap[place];
  while (place > 0 && before(thing, heap[(place - 1) / 2])) {
    set(place, heap[(place - 1) / 2]);
    place = (place - 1) / 2;
  }
  set(place, thing);
}

void EvictionQueue::sink(size_t place) {
  uint32_t thing = heap[place];
  for (size_t child; (child = 2 * place + 1) < heap.size(); place = child) {
    if (child + 1 < heap.size() && before(heap[child + 1], heap[child]))
      ++child;
    if (!before(heap[child], thing))
      break;
    set(place, heap[child]);
  }
  set(place, thing);
}

/// splitmix64 (Steele, Lea and Flood, 2014): the same evictions in every run.
uint64_t EvictionQueue::nextRandom() {
  uint64_t x = randomState += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

} // namespace inf
