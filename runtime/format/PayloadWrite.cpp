#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/base/Error.h"
#include "runtime/format/Checked.h"
#include "runtime/format/Checksum.h"
#include "runtime/format/Elf.h"
#include "runtime/format/FileInput.h"
#include "runtime/format/FileOutput.h"
#include "runtime/format/OrderedPipeline.h"
#include "runtime/format/Payload.h"
#include "runtime/format/PayloadLayout.h"

namespace inf {
namespace {

/// What a worker packs at once: large enough that handing it over costs nothing, small enough that
/// the ring of a many-core machine stays in hundreds of MB.
constexpr uint64_t batchBytes = uint64_t(4) << 20;

/// Neighbouring units of one weight.
struct Batch {
  const PackedWeight *weight = nullptr;
  uint64_t firstUnit = 0, units = 0;
  uint64_t offset = 0, bytes = 0; ///< in the weights region
};

std::vector<Batch> batchesOf(const Manifest &manifest) {
  std::vector<Batch> batches;
  for (const PackedWeight &weight : manifest.weights) {
    const PackUnits units = packUnits(weight.decl, weight.spec);
    const uint64_t perBatch = std::max<uint64_t>(1, batchBytes / units.unitBytes);
    for (uint64_t first = 0; first < units.count; first += perBatch) {
      const uint64_t count = std::min(perBatch, units.count - first);
      const uint64_t start = first * units.unitBytes;
      const uint64_t end = std::min(weight.bytes, (first + count) * units.unitBytes);
      batches.push_back({&weight, first, count, weight.offset + start, end - start});
    }
  }
  return batches;
}

void packBatch(const Batch &batch, const WeightSource &source, std::vector<uint8_t> &out) {
  out.resize(batch.bytes);
  const PackedWeight &weight = *batch.weight;
  const uint64_t unitBytes = packUnits(weight.decl, weight.spec).unitBytes;
  for (uint64_t i = 0; i < batch.units; ++i) {
    const uint64_t start = i * unitBytes;
    const uint64_t bytes = std::min(unitBytes, batch.bytes - start);
    packUnit(weight.decl, weight.spec, source, batch.firstUnit + i, {out.data() + start, bytes});
  }
}

/// Rows of a weight that one unit covers.
uint64_t unitRows(const PackedWeight &weight) {
  const PackedLayout layout = weight.spec.layout;
  if (layout == PackedLayout::Vector || layout == PackedLayout::VectorPairs)
    return weight.decl.rows;
  constexpr uint64_t panelRows = 16;
  return layout == PackedLayout::Panel16Pairs ? 2 * panelRows : panelRows;
}

/// Bytes of the checkpoint that packing a batch reads, as far as one tensor has them. A transposed
/// one is read in strips, which touch all pages of an expert.
uint64_t storedBytes(const Batch &batch) {
  const WeightDecl &decl = batch.weight->decl;
  uint64_t most = 0;
  for (const WeightPart &part : decl.parts) {
    const uint64_t expert = part.rows * decl.columns;
    const uint64_t packed = batch.units * unitRows(*batch.weight) * decl.columns;
    const uint64_t elements = part.transposed ? expert : std::min(decl.experts * expert, packed);
    most = std::max(most, weightBytes(part.stored, elements));
  }
  return most;
}

/// The parts of the file that come before the weights.
struct Head {
  std::vector<uint8_t> code; ///< the linked library
  std::string manifestJson, tokenizerJson, chatTemplate;
  PayloadHeader header = {}; ///< as without weights
  uint64_t payloadOffset = 0;
};

/// Packs all weights by several threads; `sink` is given them in order, on this thread.
void packInOrder(const Manifest &manifest, const WeightSource &source, unsigned threads,
                 const Progress &progress,
                 const std::function<void(const Batch &, const std::vector<uint8_t> &)> &sink) {
  const std::vector<Batch> batches = batchesOf(manifest);
  runOrdered(
      batches.size(), threads,
      [&](uint64_t i, std::vector<uint8_t> &buffer) { packBatch(batches[i], source, buffer); },
      [&](uint64_t i, const std::vector<uint8_t> &buffer) {
        sink(batches[i], buffer);
        source.forget();
        if (progress)
          progress(batches[i].offset + buffer.size(), manifest.weightsBytes);
      });
}

/// The weights region: packed weights in order, zeros between and behind. Returns its checksum.
uint64_t writeWeights(AtomicFile &file, const Manifest &manifest, const WeightSource &source,
                      unsigned threads, const Progress &progress) {
  StreamChecksum checksum;
  uint64_t done = 0;
  const auto padTo = [&](uint64_t offset) {
    const std::vector<uint8_t> zeros(offset - done);
    file.append(zeros);
    checksum.add(zeros);
    done = offset;
  };
  packInOrder(manifest, source, threads, progress,
              [&](const Batch &batch, const std::vector<uint8_t> &buffer) {
                padTo(batch.offset);
                file.append(buffer);
                checksum.add(buffer);
                done += buffer.size();
              });
  padTo(manifest.weightsBytes);
  return checksum.value();
}

void writeHead(AtomicFile &file, const std::string &name, const Head &head,
               const PayloadHeader &header) {
  std::vector<uint8_t> code = head.code;
  patchPayloadPlace(name, code, {head.payloadOffset, header.payloadBytes});
  file.append(code);
  file.appendZeros(head.payloadOffset + payloadHeaderSpace - code.size()); // the header comes last
  file.append(bytesOf(head.manifestJson));
  file.append(bytesOf(head.tokenizerJson));
  file.append(bytesOf(head.chatTemplate));
}

/// Everything writeModel and fillModel have in common, which is why their bytes agree.
void writeFile(const std::string &name, const Head &head, const Manifest &manifest,
               const WeightSource *source, const std::string &outPath, unsigned threads,
               const Progress &progress) {
  PayloadHeader header = head.header;
  header.flags = source ? 1 : 0;
  header.weightsBytes = source ? manifest.weightsBytes : 0;
  layoutPayload(header);
  AtomicFile file(outPath,
                  checkedAdd(head.payloadOffset, header.payloadBytes, "size of the model"));
  writeHead(file, name, head, header);
  if (source) {
    file.appendZeros(head.payloadOffset + header.weightsOffset - file.size());
    header.weightsChecksum = writeWeights(file, manifest, *source, threads, progress);
  } else {
    file.appendZeros(head.payloadOffset + header.payloadBytes - file.size());
  }
  header.headerChecksum = payloadHeaderChecksum(header);
  file.patch(head.payloadOffset, {reinterpret_cast<const uint8_t *>(&header), sizeof(header)});
  file.commit();
}

PayloadHeader headerFor(const PayloadContents &contents, const std::string &manifestJson) {
  PayloadHeader header = {};
  std::memcpy(header.magic, payloadMagic, sizeof(header.magic));
  header.version = payloadVersion;
  header.headerBytes = sizeof(PayloadHeader);
  header.abiVersion = contents.manifest.abiVersion;
  header.featureBits = contents.manifest.featureBits;
  header.buildId[0] = contents.buildId[0];
  header.buildId[1] = contents.buildId[1];
  header.manifestBytes = manifestJson.size();
  header.manifestChecksum = checksumOf(manifestJson);
  header.tokenizerBytes = contents.tokenizerJson.size();
  header.tokenizerChecksum = checksumOf(contents.tokenizerJson);
  header.templateBytes = contents.chatTemplate.size();
  header.templateChecksum = checksumOf(contents.chatTemplate);
  return header;
}

std::string readText(const InputFile &file, uint64_t offset, uint64_t bytes) {
  std::string text(bytes, '\0');
  file.readAt(offset, {reinterpret_cast<uint8_t *>(text.data()), bytes});
  return text;
}

} // namespace

void writeModel(const std::vector<uint8_t> &code, const PayloadContents &contents,
                const WeightSource *source, const std::string &outPath, unsigned threads,
                const Progress &progress) {
  Head head;
  head.code = code;
  head.manifestJson = manifestToJson(contents.manifest);
  const Manifest checked = manifestFromJson(head.manifestJson);
  head.tokenizerJson = contents.tokenizerJson;
  head.chatTemplate = contents.chatTemplate;
  head.header = headerFor(contents, head.manifestJson);
  head.payloadOffset = alignUp(code.size(), payloadAlignment, "size of the code");
  writeFile("linked library", head, checked, source, outPath, threads, progress);
}

uint64_t packingMemory(const Manifest &manifest, unsigned threads) {
  constexpr uint64_t ofAThread = uint64_t(1) << 20; // stack and the allocator's own
  uint64_t buffer = 0, mapped = 0, scratch = 0;
  for (const Batch &batch : batchesOf(manifest)) {
    const uint64_t unit = unitRows(*batch.weight) * batch.weight->decl.columns;
    buffer = std::max(buffer, batch.bytes);
    mapped = std::max(mapped, storedBytes(batch));
    scratch = std::max(scratch, 3 * unit * sizeof(float)); // stored, converted, packed
  }
  // As many batches as there are buffers are read before pages are given back.
  return threads * (2 * (buffer + mapped) + scratch + ofAThread);
}

void packWeights(const Manifest &manifest, const WeightSource &source, std::span<uint8_t> region,
                 unsigned threads, const Progress &progress) {
  if (region.size() != manifest.weightsBytes)
    fail(ErrorCode::Internal, "{} bytes to pack weights into, expected {}", region.size(),
         manifest.weightsBytes);
  packInOrder(manifest, source, threads, progress,
              [&](const Batch &batch, const std::vector<uint8_t> &buffer) {
                std::copy(buffer.begin(), buffer.end(), region.begin() + ptrdiff_t(batch.offset));
              });
}

void fillModel(const std::string &smallPath, const WeightSource &source, const std::string &outPath,
               uint32_t expectedAbiVersion, unsigned threads, const Progress &progress) {
  const PayloadInfo info = readPayloadInfo(smallPath, expectedAbiVersion);
  if (info.hasWeights())
    fail(ErrorCode::BadInput,
         "{}: has weights already, expected a model compiled with "
         "--weights=none",
         smallPath);
  if (info.fileOffset % payloadAlignment != 0 ||
      info.fileOffset + info.header.payloadBytes != info.fileBytes)
    fail(ErrorCode::BadInput,
         "{}: the payload lies at bytes {}..{} of {}, expected it at a multiple of {} and last; "
         "fill the file as infc wrote it, and strip it then",
         smallPath, info.fileOffset, info.fileOffset + info.header.payloadBytes, info.fileBytes,
         payloadAlignment);
  const InputFile file(smallPath);
  Head head;
  head.header = info.header;
  head.payloadOffset = info.fileOffset;
  head.code.resize(info.fileOffset); // with the zeros up to the payload, which are the same
  file.readAt(0, head.code);
  // The file's own text, not the manifest written anew: its checksum and build id stay true.
  head.manifestJson =
      readText(file, info.fileOffset + info.header.manifestOffset, info.header.manifestBytes);
  head.tokenizerJson = info.tokenizerJson;
  head.chatTemplate = info.chatTemplate;
  writeFile(smallPath, head, info.manifest, &source, outPath, threads, progress);
}

} // namespace inf
