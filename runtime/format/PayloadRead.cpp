#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "runtime/base/Error.h"
#include "runtime/format/Checked.h"
#include "runtime/format/Checksum.h"
#include "runtime/format/Elf.h"
#include "runtime/format/FileInput.h"
#include "runtime/format/Payload.h"
#include "runtime/format/PayloadLayout.h"
#include "runtime/format/Versions.h"

namespace inf {
namespace {

constexpr char damaged[] = "the file is damaged, copy or compile it again";

void checkIdentity(const std::string &path, const PayloadHeader &header, uint32_t abiVersion) {
  if (std::memcmp(header.magic, payloadMagic, sizeof(header.magic)) != 0)
    fail(ErrorCode::BadInput, "{}: the payload's magic is {:016x}, expected '{}'; {}", path,
         // as bytes in file order: what is there may not be text
         __builtin_bswap64(std::bit_cast<uint64_t>(header.magic)), payloadMagic, damaged);
  requireVersion(path + ": payload", header.version, payloadVersion);
  if (header.headerBytes != sizeof(PayloadHeader))
    fail(ErrorCode::BadInput, "{}: payload header of {} bytes, expected {}; {}", path,
         header.headerBytes, sizeof(PayloadHeader), damaged);
  const uint64_t checksum = payloadHeaderChecksum(header);
  if (header.headerChecksum != checksum)
    fail(ErrorCode::BadInput, "{}: payload header checksum is {:016x}, expected {:016x}; {}", path,
         checksum, header.headerChecksum, damaged);
  requireVersion(path + ": ABI", header.abiVersion, abiVersion);
}

/// The header's places must be those its sizes give: then nothing overlaps or leaves the payload.
void checkLayout(const std::string &path, const PayloadHeader &header, const PayloadPlace &place) {
  PayloadHeader expected = header;
  layoutPayload(expected);
  const struct {
    const char *what;
    uint64_t found, expected;
  } fields[] = {
      {"flags", header.flags & ~1u, 0},
      {"manifest offset", header.manifestOffset, expected.manifestOffset},
      {"tokenizer offset", header.tokenizerOffset, expected.tokenizerOffset},
      {"template offset", header.templateOffset, expected.templateOffset},
      {"weights offset", header.weightsOffset, expected.weightsOffset},
      {"weights bytes", (header.flags & 1) ? 0 : header.weightsBytes, 0},
      {"payload bytes", header.payloadBytes, expected.payloadBytes},
      {"bytes of the program header", place.bytes, header.payloadBytes},
  };
  for (const auto &field : fields)
    if (field.found != field.expected)
      fail(ErrorCode::BadInput, "{}: payload {} {}, expected {}; {}", path, field.what, field.found,
           field.expected, damaged);
}

std::string readPart(const InputFile &file, const PayloadPlace &place, const char *what,
                     uint64_t offset, uint64_t bytes, uint64_t checksum) {
  std::string text(bytes, '\0');
  file.readAt(place.offset + offset, {reinterpret_cast<uint8_t *>(text.data()), bytes});
  const uint64_t found = checksumOf(text);
  if (found != checksum)
    fail(ErrorCode::BadInput, "{}: checksum of the {} is {:016x}, expected {:016x}; {}",
         file.path(), what, found, checksum, damaged);
  return text;
}

/// A manifest knows nothing of the file it is in.
Manifest readManifest(const std::string &path, std::string_view json) {
  try {
    return manifestFromJson(json);
  } catch (const Error &error) {
    fail(error.code, "{}: {}", path, error.what());
  }
}

void checkManifest(const std::string &path, const PayloadHeader &header, const Manifest &manifest) {
  const struct {
    const char *what;
    uint64_t found, expected;
  } fields[] = {
      {"ABI version", manifest.abiVersion, header.abiVersion},
      {"feature bits", manifest.featureBits, header.featureBits},
      {"weights bytes", (header.flags & 1) ? manifest.weightsBytes : 0, header.weightsBytes},
  };
  for (const auto &field : fields)
    if (field.found != field.expected)
      fail(ErrorCode::BadInput, "{}: the manifest's {} are {}, expected the header's {}; {}", path,
           field.what, field.found, field.expected, damaged);
}

} // namespace

PayloadInfo readPayloadInfo(const std::string &path, uint32_t expectedAbiVersion) {
  const InputFile file(path);
  const PayloadPlace place =
      findPayload(path, file.size(),
                  [&](uint64_t offset, std::span<uint8_t> out) { file.readAt(offset, out); });
  if (place.bytes < payloadHeaderSpace)
    fail(ErrorCode::BadInput, "{}: payload of {} bytes, expected at least {}; {}", path,
         place.bytes, payloadHeaderSpace, damaged);
  PayloadInfo info;
  info.fileOffset = place.offset;
  info.fileBytes = file.size();
  PayloadHeader &header = info.header;
  file.readAt(place.offset, {reinterpret_cast<uint8_t *>(&header), sizeof(header)});
  checkIdentity(path, header, expectedAbiVersion);
  checkLayout(path, header, place);
  info.manifest = readManifest(path, readPart(file, place, "manifest", header.manifestOffset,
                                              header.manifestBytes, header.manifestChecksum));
  info.tokenizerJson = readPart(file, place, "tokenizer", header.tokenizerOffset,
                                header.tokenizerBytes, header.tokenizerChecksum);
  info.chatTemplate = readPart(file, place, "chat template", header.templateOffset,
                               header.templateBytes, header.templateChecksum);
  checkManifest(path, header, info.manifest);
  return info;
}

void verifyWeights(const std::string &path, const PayloadInfo &info) {
  if (!info.hasWeights())
    fail(ErrorCode::BadInput, "{}: no weights to verify; add them with infrun fill", path);
  const InputFile file(path);
  StreamChecksum checksum;
  std::vector<uint8_t> buffer(uint64_t(4) << 20);
  uint64_t left = info.header.weightsBytes;
  uint64_t offset = info.fileOffset + info.header.weightsOffset;
  while (left > 0) {
    const std::span<uint8_t> piece(buffer.data(), std::min<uint64_t>(left, buffer.size()));
    file.readAt(offset, piece);
    checksum.add(piece);
    offset += piece.size();
    left -= piece.size();
  }
  if (checksum.value() != info.header.weightsChecksum)
    fail(ErrorCode::BadInput, "{}: checksum of the weights is {:016x}, expected {:016x}; {}", path,
         checksum.value(), info.header.weightsChecksum, damaged);
}

} // namespace inf
