// The payload of a model.so: manifest, tokenizer and packed weights in the same ELF file.
//
// The linked library ends with a non-ALLOC section `.inf.payload` (placeholder) and a PT_NOTE
// program header that the appender turns into p_type 0x60494e46 ("INF`"), so that strip keeps the
// payload and dl_iterate_phdr finds it. The section gets an alignment of 2 MiB too: strip moves
// sections (section headers then follow the payload) and corrects the program header, and only the
// section's alignment keeps the payload where it can be mapped. The payload starts at the next 2
// MiB boundary after the linked file: header (4096 bytes), manifest JSON, tokenizer.json, chat
// template, then at the next 2 MiB boundary the weights, which end the file. Without weights
// (`--weights=none`) the file ends after the metadata, padded to 4096 bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/format/Manifest.h"
#include "runtime/format/WeightSource.h"

namespace inf {

inline constexpr uint32_t payloadProgramHeaderType = 0x60494e46;
inline constexpr char payloadSectionName[] = ".inf.payload";
inline constexpr uint32_t payloadVersion = 1;
/// Of the payload in the file and of the weights in the payload: one huge page.
inline constexpr uint64_t payloadAlignment = uint64_t(2) << 20;

/// First 4096 bytes of the payload; little-endian, fixed layout.
struct PayloadHeader {
  char magic[8];        ///< "INFPAYLD"
  uint32_t version;     ///< payloadVersion
  uint32_t headerBytes; ///< sizeof(PayloadHeader)
  uint32_t abiVersion;  ///< must equal the runtime's
  uint32_t flags;       ///< bit 0: weights present
  uint64_t featureBits; ///< FeatureSet::bits the code needs
  uint64_t buildId[2];  ///< XXH3-128 of code, manifest, tokenizer; also in the code (inf_abi.h)
  uint64_t manifestOffset, manifestBytes, manifestChecksum;    ///< offsets from the payload's start
  uint64_t tokenizerOffset, tokenizerBytes, tokenizerChecksum; ///< checksums are XXH3-64
  uint64_t templateOffset, templateBytes, templateChecksum;
  uint64_t weightsOffset, weightsBytes, weightsChecksum; ///< 0 bytes when not filled
  uint64_t payloadBytes;   ///< whole payload; must equal p_filesz and lie inside the file
  uint64_t headerChecksum; ///< XXH3-64 of this header with this field 0
};
static_assert(sizeof(PayloadHeader) == 160, "the layout is part of the format");

/// Everything the loader may know before dlopen, read with pread and checked. Nothing is executed.
struct PayloadInfo {
  PayloadHeader header;
  Manifest manifest;
  std::string tokenizerJson, chatTemplate;
  uint64_t fileOffset = 0; ///< of the payload in the file
  uint64_t fileBytes = 0;
  bool hasWeights() const { return header.flags & 1; }
};

/// Reads and checks ELF header (x86-64, shared object), program headers, payload header, bounds,
/// checksums of all but the weights, manifest, ABI version. Fails with BadInput (Io when the file
/// can't be read): what, expected, found, what to do.
PayloadInfo readPayloadInfo(const std::string &path, uint32_t expectedAbiVersion);

/// Reads the weights once and compares their checksum (for `infrun check`-like tools).
void verifyWeights(const std::string &path, const PayloadInfo &info);

using Progress = std::function<void(uint64_t doneBytes, uint64_t totalBytes)>;

struct PayloadContents {
  Manifest manifest;
  std::string tokenizerJson, chatTemplate;
  uint64_t buildId[2] = {0, 0};
};

/// Appends a payload to the linked library `code` (the bytes of a .so as lld wrote it) and writes
/// the result to `outPath`: written beside (".tmp-PID" suffix), fsynced, then renamed; on any
/// failure (disk full: Io, naming bytes needed) nothing stays. `source` null = no weights.
/// Packs with `threads` threads in a few MB of memory each, output order fixed: the bytes do not
/// depend on `threads`. The manifest is checked as manifestFromJson does (BadInput); its weights
/// must have been laid out (layoutWeights). `progress` may be empty; called on this thread.
void writeModel(const std::vector<uint8_t> &code, const PayloadContents &contents,
                const WeightSource *source, const std::string &outPath, unsigned threads,
                const Progress &progress);

/// Resident bytes that packing a manifest's weights takes at most on `threads` threads, the code
/// and the manifest aside: two buffers a thread of what is written (4 MiB, or a row of panels where
/// that is more), the mapped pages of the checkpoint read for each (of a transposed tensor: one
/// whole expert), and the rows a thread works on.
uint64_t packingMemory(const Manifest &manifest, unsigned threads);

/// Packs the weights into zeroed memory: the bytes that writeModel gives the region of a file. The
/// manifest must be one that manifestFromJson accepts.
void packWeights(const Manifest &manifest, const WeightSource &source, std::span<uint8_t> region,
                 unsigned threads, const Progress &progress);

/// Copies an unfilled model.so and adds the weights: the same bytes writeModel would have written.
/// A file that has weights, or that strip has changed, is refused (fill first, strip then).
void fillModel(const std::string &smallPath, const WeightSource &source, const std::string &outPath,
               uint32_t expectedAbiVersion, unsigned threads, const Progress &progress);

} // namespace inf
