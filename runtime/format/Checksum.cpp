#include "runtime/format/Checksum.h"

#include <new>

#include <xxhash.h>

namespace inf {

struct StreamChecksum::State {
  XXH3_state_t *xxh = XXH3_createState(); // it wants an alignment of 64, which its maker knows
  ~State() { XXH3_freeState(xxh); }
};

StreamChecksum::StreamChecksum() : state(std::make_unique<State>()) {
  if (!state->xxh)
    throw std::bad_alloc();
  XXH3_64bits_reset(state->xxh);
}

StreamChecksum::~StreamChecksum() = default;

void StreamChecksum::add(std::span<const uint8_t> bytes) {
  XXH3_64bits_update(state->xxh, bytes.data(), bytes.size());
}

uint64_t StreamChecksum::value() const { return XXH3_64bits_digest(state->xxh); }

} // namespace inf
