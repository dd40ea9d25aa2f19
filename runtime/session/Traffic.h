// How many bytes one generated token must read: the roof that tokens per second are held against.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/loader/Model.h"

namespace inf {

/// Bytes of keys and values that a query at `position` reads: position + 1 keys in full groups,
/// min(window, position + 1) in window groups; keys and values, all layers and KV heads.
uint64_t kvBytesRead(const inf_model &model, uint64_t position);

/// Weights (manifest.bytesPerToken: exact, experts counted as top_k of experts) plus keys and
/// values.
uint64_t bytesPerGeneratedToken(const Model &model, uint64_t position);

/// XXH3-64 of the floats' bytes: two runs that agree here computed the same logits to the bit.
uint64_t logitsHash(std::span<const float> logits);

} // namespace inf
