#include "runtime/sampler/Random.h"

#include <bit>

namespace inf {
namespace {

/// One step of SplitMix64: advances `state`, returns its mixed form.
uint64_t splitMix(uint64_t &state) {
  uint64_t mixed = state += 0x9E3779B97F4A7C15u;
  mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
  return mixed ^ mixed >> 31;
}

} // namespace

Random::Random(uint64_t seed) {
  for (uint64_t &word : state)
    word = splitMix(seed);
}

uint64_t Random::next() {
  uint64_t result = std::rotl(state[1] * 5, 7) * 9;
  uint64_t shifted = state[1] << 17;
  state[2] ^= state[0];
  state[3] ^= state[1];
  state[1] ^= state[2];
  state[0] ^= state[3];
  state[2] ^= shifted;
  state[3] = std::rotl(state[3], 45);
  return result;
}

} // namespace inf
