// Where the parts of a payload lie, computed from their sizes alone: the writer puts them there,
// the reader accepts no other place.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/format/Payload.h"

namespace inf {

inline constexpr char payloadMagic[9] = "INFPAYLD";
inline constexpr uint64_t payloadHeaderSpace = 4096;

/// Fills the offsets and payloadBytes from manifestBytes, tokenizerBytes, templateBytes and, with
/// bit 0 of flags, weightsBytes. Fails with BadInput when the sizes overflow.
void layoutPayload(PayloadHeader &header);

/// The header's own checksum (its field taken as 0).
uint64_t payloadHeaderChecksum(PayloadHeader header);

uint64_t checksumOf(std::span<const uint8_t> bytes); ///< XXH3-64
uint64_t checksumOf(std::string_view text);

inline std::span<const uint8_t> bytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

} // namespace inf
