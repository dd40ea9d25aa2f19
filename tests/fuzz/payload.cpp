// A model.so before dlopen: ELF header, program headers, payload header, manifest. An input whose
// checksums are wrong is tried again with right ones, or no change would get past them.
#include <cstring>
#include <vector>

#include "runtime/abi/inf_abi.h"
#include "runtime/format/Elf.h"
#include "runtime/format/Payload.h"
#include "runtime/format/PayloadLayout.h"
#include "tests/fuzz/Fuzz.h"

namespace {

using namespace inf;

void correct(std::vector<uint8_t> &image, PayloadPlace place, uint64_t offset, uint64_t bytes,
             uint64_t &checksum) {
  if (offset > place.bytes || bytes > place.bytes - offset)
    return;
  checksum = checksumOf({image.data() + place.offset + offset, size_t(bytes)});
}

/// Whether there is a payload whose checksums could be made right.
bool correctChecksums(std::vector<uint8_t> &image) {
  PayloadPlace place;
  bool found = test::accepts([&] {
    place = findPayload("input", image.size(), [&](uint64_t offset, std::span<uint8_t> out) {
      test::require(offset <= image.size() && out.size() <= image.size() - offset,
                    "a read beyond the file");
      std::memcpy(out.data(), image.data() + offset, out.size());
    });
  });
  if (!found || place.bytes < sizeof(PayloadHeader))
    return false;
  PayloadHeader header;
  std::memcpy(&header, image.data() + place.offset, sizeof(header));
  correct(image, place, header.manifestOffset, header.manifestBytes, header.manifestChecksum);
  correct(image, place, header.tokenizerOffset, header.tokenizerBytes, header.tokenizerChecksum);
  correct(image, place, header.templateOffset, header.templateBytes, header.templateChecksum);
  header.headerChecksum = payloadHeaderChecksum(header);
  std::memcpy(image.data() + place.offset, &header, sizeof(header));
  return true;
}

void read(const std::vector<uint8_t> &image) {
  test::MemoryFile file(image.data(), image.size());
  test::accepts([&] {
    PayloadInfo info = readPayloadInfo(file.path(), INF_ABI_VERSION);
    if (info.hasWeights())
      verifyWeights(file.path(), info);
  });
}

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<uint8_t> image(data, data + size);
  read(image);
  if (correctChecksums(image))
    read(image);
  return 0;
}
