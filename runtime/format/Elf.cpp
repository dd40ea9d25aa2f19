#include "runtime/format/Elf.h"

#include <cstring>
#include <optional>

#include <elf.h>

#include "runtime/base/Error.h"
#include "runtime/format/Checked.h"
#include "runtime/format/Payload.h"

namespace inf {
namespace {

constexpr char notOurs[] = "pass a model.so made by infc";

template <typename T> T readStruct(const ReadAt &readAt, uint64_t offset) {
  T value;
  readAt(offset, {reinterpret_cast<uint8_t *>(&value), sizeof(T)});
  return value;
}

Elf64_Ehdr readHeader(const std::string &name, uint64_t fileBytes, const ReadAt &readAt) {
  if (fileBytes < sizeof(Elf64_Ehdr))
    fail(ErrorCode::BadInput, "{}: {} bytes, expected an ELF file of at least {}; {}", name,
         fileBytes, sizeof(Elf64_Ehdr), notOurs);
  const auto header = readStruct<Elf64_Ehdr>(readAt, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    fail(ErrorCode::BadInput,
         "{}: starts with bytes {:02x} {:02x} {:02x} {:02x}, expected an ELF "
         "file (7f 45 4c 46); {}",
         name, header.e_ident[0], header.e_ident[1], header.e_ident[2], header.e_ident[3], notOurs);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    fail(ErrorCode::BadInput,
         "{}: ELF class {} data {}, expected 2 and 1 (64-bit little-endian); {}", name,
         header.e_ident[EI_CLASS], header.e_ident[EI_DATA], notOurs);
  if (header.e_type != ET_DYN || header.e_machine != EM_X86_64)
    fail(ErrorCode::BadInput,
         "{}: ELF type {} machine {}, expected {} and {} (an x86-64 shared library); {}", name,
         header.e_type, header.e_machine, ET_DYN, EM_X86_64, notOurs);
  if (header.e_phentsize != sizeof(Elf64_Phdr))
    fail(ErrorCode::BadInput, "{}: program headers of {} bytes, expected {}; the file is damaged",
         name, header.e_phentsize, sizeof(Elf64_Phdr));
  if (!rangeInside(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr), fileBytes))
    fail(ErrorCode::BadInput,
         "{}: {} program headers at byte {}, expected them inside the file's {}; it is damaged or "
         "cut short",
         name, header.e_phnum, header.e_phoff, fileBytes);
  return header;
}

/// Offset in the file of the one program header of `type`; nothing when there is none.
std::optional<uint64_t> findProgramHeader(const std::string &name, const Elf64_Ehdr &header,
                                          const ReadAt &readAt, uint32_t type) {
  std::optional<uint64_t> found;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    const uint64_t offset = header.e_phoff + i * sizeof(Elf64_Phdr);
    if (readStruct<Elf64_Phdr>(readAt, offset).p_type != type)
      continue;
    if (found)
      fail(ErrorCode::BadInput,
           "{}: two program headers of type {:#x}, expected one; link it without further notes",
           name, type);
    found = offset;
  }
  return found;
}

/// Offset in the file of the section header of `.inf.payload`.
uint64_t findPayloadSection(const std::string &name, uint64_t fileBytes, const Elf64_Ehdr &header,
                            const ReadAt &readAt) {
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shstrndx >= header.e_shnum ||
      !rangeInside(header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr), fileBytes))
    fail(ErrorCode::BadInput,
         "{}: {} section headers of {} bytes at byte {}, names in section {}; expected them of {} "
         "bytes inside the {} bytes before the payload; use the file as infc wrote it",
         name, header.e_shnum, header.e_shentsize, header.e_shoff, header.e_shstrndx,
         sizeof(Elf64_Shdr), fileBytes);
  const auto at = [&](uint64_t i) { return header.e_shoff + i * sizeof(Elf64_Shdr); };
  const auto names = readStruct<Elf64_Shdr>(readAt, at(header.e_shstrndx));
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = readStruct<Elf64_Shdr>(readAt, at(i));
    char text[sizeof(payloadSectionName)] = {};
    if (!rangeInside(section.sh_name, sizeof(text), names.sh_size) ||
        !rangeInside(names.sh_offset, names.sh_size, fileBytes))
      continue;
    readAt(names.sh_offset + section.sh_name, {reinterpret_cast<uint8_t *>(text), sizeof(text)});
    if (std::memcmp(text, payloadSectionName, sizeof(text)) != 0)
      continue;
    if (section.sh_type != SHT_PROGBITS || (section.sh_flags & SHF_ALLOC))
      fail(ErrorCode::BadInput,
           "{}: section {} has type {} and flags {:#x}, expected 1 (PROGBITS) and not ALLOC", name,
           payloadSectionName, section.sh_type, section.sh_flags);
    return at(i);
  }
  fail(ErrorCode::BadInput, "{}: no section {}, expected the placeholder for the payload", name,
       payloadSectionName);
}

template <typename T> void overwrite(std::span<uint8_t> image, uint64_t offset, const T &value) {
  std::memcpy(image.data() + offset, &value, sizeof(T));
}

} // namespace

PayloadPlace findPayload(const std::string &name, uint64_t fileBytes, const ReadAt &readAt) {
  const Elf64_Ehdr header = readHeader(name, fileBytes, readAt);
  const auto found = findProgramHeader(name, header, readAt, payloadProgramHeaderType);
  if (!found)
    fail(ErrorCode::BadInput, "{}: no program header of type {:#x}, expected a payload; {}", name,
         payloadProgramHeaderType, notOurs);
  const auto segment = readStruct<Elf64_Phdr>(readAt, *found);
  if (segment.p_offset % 4096 != 0)
    fail(ErrorCode::BadInput,
         "{}: the payload starts at byte {}, expected a multiple of 4096; a tool moved it, compile "
         "the model again",
         name, segment.p_offset);
  if (!rangeInside(segment.p_offset, segment.p_filesz, fileBytes))
    fail(ErrorCode::BadInput,
         "{}: expected {} bytes of payload at byte {}, found a file of {} bytes; it is cut short, "
         "copy it again",
         name, segment.p_filesz, segment.p_offset, fileBytes);
  return {segment.p_offset, segment.p_filesz};
}

void patchPayloadPlace(const std::string &name, std::span<uint8_t> image, PayloadPlace place) {
  const ReadAt readAt = [&](uint64_t offset, std::span<uint8_t> out) {
    std::memcpy(out.data(), image.data() + offset, out.size());
  };
  const Elf64_Ehdr header = readHeader(name, image.size(), readAt);
  auto segmentAt = findProgramHeader(name, header, readAt, payloadProgramHeaderType);
  if (!segmentAt)
    segmentAt = findProgramHeader(name, header, readAt, PT_NOTE);
  if (!segmentAt)
    fail(ErrorCode::BadInput, "{}: no PT_NOTE program header, expected one to become the payload's",
         name);
  const uint64_t sectionAt = findPayloadSection(name, image.size(), header, readAt);

  auto section = readStruct<Elf64_Shdr>(readAt, sectionAt);
  section.sh_offset = place.offset;
  section.sh_size = place.bytes;
  // strip lays sections out anew, each at its own alignment: without this one it would move the
  // payload to an odd byte, where it can't be mapped.
  section.sh_addralign = payloadAlignment;
  overwrite(image, sectionAt, section);

  Elf64_Phdr segment = {};
  segment.p_type = payloadProgramHeaderType;
  segment.p_flags = PF_R;
  segment.p_offset = place.offset;
  segment.p_filesz = place.bytes;
  segment.p_align = payloadAlignment;
  overwrite(image, *segmentAt, segment);
}

} // namespace inf
