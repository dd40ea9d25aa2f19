// The little of ELF that the payload needs: checking a shared library's headers, finding the
// payload's program header, and turning the linker's placeholders into it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace inf {

/// Where the payload lies in the file.
struct PayloadPlace {
  uint64_t offset = 0, bytes = 0;
};

/// Reads bytes of the file; only ever called with ranges inside of it.
using ReadAt = std::function<void(uint64_t offset, std::span<uint8_t> out)>;

/// The payload of an x86-64 shared library of `fileBytes` bytes, through its program header. Fails
/// with BadInput, starting with `name`, when the file is none, has no payload, or is cut short.
PayloadPlace findPayload(const std::string &name, uint64_t fileBytes, const ReadAt &readAt);

/// Makes `image` (a linked library) say that the payload is at `place`: section `.inf.payload`, and
/// the library's one PT_NOTE program header (or, in a file that has a payload already, the
/// payload's), become it. Fails with BadInput, starting with `name`, when there is no such section
/// or not exactly one such program header.
void patchPayloadPlace(const std::string &name, std::span<uint8_t> image, PayloadPlace place);

} // namespace inf
