#include "runtime/format/PayloadLayout.h"

#include <xxhash.h>

#include "runtime/format/Checked.h"

namespace inf {

void layoutPayload(PayloadHeader &header) {
  const char what[] = "size of the payload";
  header.manifestOffset = payloadHeaderSpace;
  header.tokenizerOffset = checkedAdd(header.manifestOffset, header.manifestBytes, what);
  header.templateOffset = checkedAdd(header.tokenizerOffset, header.tokenizerBytes, what);
  const uint64_t metadataEnd = checkedAdd(header.templateOffset, header.templateBytes, what);
  if (header.flags & 1) {
    header.weightsOffset = alignUp(metadataEnd, payloadAlignment, what);
    header.payloadBytes = checkedAdd(header.weightsOffset, header.weightsBytes, what);
  } else {
    header.weightsOffset = 0;
    header.payloadBytes = alignUp(metadataEnd, payloadHeaderSpace, what);
  }
}

uint64_t payloadHeaderChecksum(PayloadHeader header) {
  header.headerChecksum = 0;
  return checksumOf({reinterpret_cast<const uint8_t *>(&header), sizeof(header)});
}

uint64_t checksumOf(std::span<const uint8_t> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

uint64_t checksumOf(std::string_view text) { return checksumOf(bytesOf(text)); }

} // namespace inf
