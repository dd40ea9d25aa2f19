#include <cstdlib>

#include <dlfcn.h>
#include <elf.h>

#include "runtime/format/Payload.h"
#include "runtime/format/PayloadLayout.h"
#include "tests/runtime/format/FileSizeLimit.h"
#include "tests/runtime/format/SampleManifest.h"
#include "tests/runtime/format/TestSupport.h"

namespace inf {
namespace {

using namespace test;

constexpr uint32_t abi = 5;

PayloadContents sampleContents() {
  return {sampleManifest(), R"({"tokenizer": true})", "{{ messages }}", {0x1111, 0x2222}};
}

std::vector<uint8_t> linkedCode() { return readBytes(INF_TEST_CODE); }

std::unique_ptr<WeightSource> sampleSource() {
  return makeRandomSource(11, declsOf(sampleManifest()));
}

/// A model in a temporary folder, written once and changed by the tests.
class Payload : public testing::Test {
protected:
  void write(const WeightSource *source, const char *name = "model.so", unsigned threads = 2) {
    writeModel(linkedCode(), sampleContents(), source, folder / name, threads, {});
  }

  /// Changes the payload header of `bytes`, and makes its checksum right again.
  void changeHeader(std::vector<uint8_t> &bytes,
                    const std::function<void(PayloadHeader &)> &change) {
    PayloadHeader header;
    std::memcpy(&header, bytes.data() + payloadStart, sizeof(header));
    change(header);
    header.headerChecksum = payloadHeaderChecksum(header);
    std::memcpy(bytes.data() + payloadStart, &header, sizeof(header));
  }

  void expectRefused(const std::vector<uint8_t> &bytes, const std::vector<std::string> &parts) {
    writeBytes(folder / "broken.so", bytes);
    expectFailure(ErrorCode::BadInput, parts, [&] { readPayloadInfo(folder / "broken.so", abi); });
  }

  const uint64_t payloadStart = payloadAlignment; // the test library is small
  TempFolder folder;
};

TEST_F(Payload, ReadsBackWhatWasWritten) {
  const auto source = sampleSource();
  write(source.get());
  const PayloadInfo info = readPayloadInfo(folder / "model.so", abi);
  EXPECT_TRUE(info.hasWeights());
  EXPECT_EQ(manifestToJson(info.manifest), manifestToJson(sampleManifest()));
  EXPECT_EQ(info.tokenizerJson, sampleContents().tokenizerJson);
  EXPECT_EQ(info.chatTemplate, sampleContents().chatTemplate);
  EXPECT_EQ(info.header.buildId[1], 0x2222u);
  EXPECT_EQ(info.fileOffset, payloadStart);
  EXPECT_EQ(info.header.weightsOffset % payloadAlignment, 0u);
  EXPECT_EQ(info.fileBytes, info.fileOffset + info.header.payloadBytes);
  verifyWeights(folder / "model.so", info);
  EXPECT_THAT(folder.names(), testing::ElementsAre("model.so"));
}

TEST_F(Payload, WeightsLieWhereTheManifestSaysWithZerosBetween) {
  const auto source = sampleSource();
  write(source.get());
  const auto bytes = readBytes(folder / "model.so");
  const PayloadInfo info = readPayloadInfo(folder / "model.so", abi);
  const uint8_t *weights = bytes.data() + info.fileOffset + info.header.weightsOffset;
  std::vector<uint8_t> expected(info.manifest.weightsBytes);
  for (const PackedWeight &weight : info.manifest.weights) {
    const PackUnits units = packUnits(weight.decl, weight.spec);
    for (uint64_t unit = 0; unit < units.count; ++unit)
      packUnit(weight.decl, weight.spec, *source, unit,
               {expected.data() + weight.offset + unit * units.unitBytes,
                packUnitBytes(weight.decl, weight.spec, unit)});
  }
  EXPECT_EQ(std::memcmp(weights, expected.data(), expected.size()), 0);
  EXPECT_EQ(info.header.weightsChecksum, checksumOf(expected));
}

TEST_F(Payload, ThreadsDoNotChangeTheBytes) {
  const auto source = sampleSource();
  write(source.get(), "one.so", 1);
  write(source.get(), "two.so", 2);
  EXPECT_EQ(readBytes(folder / "one.so"), readBytes(folder / "two.so"));
}

TEST_F(Payload, FillingGivesTheBytesOfWritingFilled) {
  const auto source = sampleSource();
  write(source.get(), "whole.so");
  write(nullptr, "small.so");
  const PayloadInfo small = readPayloadInfo(folder / "small.so", abi);
  EXPECT_FALSE(small.hasWeights());
  EXPECT_EQ(small.header.weightsBytes, 0u);
  EXPECT_EQ(small.fileBytes % 4096, 0u);
  uint64_t last = 0;
  fillModel(folder / "small.so", *source, folder / "filled.so", abi, 1,
            [&](uint64_t done, uint64_t total) {
              EXPECT_GT(done, last);
              EXPECT_LE(done, total);
              last = done;
            });
  EXPECT_EQ(readBytes(folder / "filled.so"), readBytes(folder / "whole.so"));
}

TEST_F(Payload, FillingTwiceIsRefused) {
  const auto source = sampleSource();
  write(source.get());
  expectFailure(ErrorCode::BadInput, {"has weights already"},
                [&] { fillModel(folder / "model.so", *source, folder / "again.so", abi, 1, {}); });
  const PayloadInfo info = readPayloadInfo(folder / "model.so", abi);
  write(nullptr, "small.so");
  expectFailure(ErrorCode::BadInput, {"no weights"}, [&] {
    verifyWeights(folder / "small.so", readPayloadInfo(folder / "small.so", abi));
  });
}

int callAnswer(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw std::runtime_error(dlerror());
  const auto answer = reinterpret_cast<int (*)()>(dlsym(library, "answer"));
  const int result = answer ? answer() : -1;
  dlclose(library);
  return result;
}

TEST_F(Payload, TheLibraryStillLoads) {
  const auto source = sampleSource();
  write(source.get());
  EXPECT_EQ(callAnswer(folder / "model.so"), 42);
}

TEST_F(Payload, StripKeepsThePayloadMappableAndReachable) {
  const auto source = sampleSource();
  write(source.get());
  const auto before = readPayloadInfo(folder / "model.so", abi);
  ASSERT_EQ(std::system((INF_STRIP " " + (folder / "model.so")).c_str()), 0);
  const auto after = readPayloadInfo(folder / "model.so", abi);
  EXPECT_EQ(after.fileOffset % payloadAlignment, 0u);
  EXPECT_EQ(after.header.headerChecksum, before.header.headerChecksum);
  verifyWeights(folder / "model.so", after);
  EXPECT_EQ(callAnswer(folder / "model.so"), 42);
}

TEST_F(Payload, FillingAStrippedFileIsRefusedWithTheOrderToDoItIn) {
  write(nullptr, "small.so");
  ASSERT_EQ(std::system((INF_STRIP " " + (folder / "small.so")).c_str()), 0);
  const auto source = sampleSource();
  expectFailure(ErrorCode::BadInput, {"strip it then"},
                [&] { fillModel(folder / "small.so", *source, folder / "filled.so", abi, 1, {}); });
}

TEST_F(Payload, ADamagedHeaderSaysWhatItExpectedAndFound) {
  write(nullptr);
  const auto good = readBytes(folder / "model.so");
  auto bytes = good;
  bytes[payloadStart] = 'X';
  expectRefused(bytes, {"magic", "expected 'INFPAYLD'"});
  const auto refuseChanged = [&](const std::function<void(PayloadHeader &)> &change,
                                 const std::vector<std::string> &parts) {
    auto changed = good;
    changeHeader(changed, change);
    expectRefused(changed, parts);
  };
  refuseChanged([](auto &header) { header.version = 9; }, {"version 9, expected 1"});
  refuseChanged([](auto &header) { header.headerBytes = 8; }, {"header of 8 bytes, expected 160"});
  refuseChanged([](auto &header) { header.abiVersion = 4; }, {"ABI version 4, expected 5"});
  refuseChanged([](auto &header) { header.flags = 6; }, {"flags 6, expected 0"});
  refuseChanged([](auto &header) { header.featureBits = 1; }, {"feature bits", "header's 1"});
  refuseChanged([](auto &header) { header.manifestOffset = 1; }, {"manifest offset 1, expected"});
  refuseChanged([](auto &header) { header.tokenizerBytes = ~uint64_t(0); }, {"64 bits"});
  refuseChanged([](auto &header) { header.templateBytes = 1 << 20; }, {"payload bytes"});
  refuseChanged([](auto &header) { header.payloadBytes += 4096; }, {"payload bytes", "expected"});
  refuseChanged([](auto &header) { header.weightsBytes = 64; }, {"weights bytes 64, expected 0"});
  refuseChanged([](auto &header) { header.manifestChecksum ^= 1; }, {"manifest is", "expected"});
  for (uint64_t byte = 8; byte < sizeof(PayloadHeader); ++byte) { // no byte goes unnoticed
    bytes = good;
    bytes[payloadStart + byte] ^= 0x40;
    expectRefused(bytes, {"expected"});
  }
}

TEST_F(Payload, DamagedContentsAreNamed) {
  const auto source = sampleSource();
  write(source.get());
  const auto good = readBytes(folder / "model.so");
  const PayloadInfo info = readPayloadInfo(folder / "model.so", abi);
  const auto damaged = [&](uint64_t offset) {
    auto bytes = good;
    bytes[payloadStart + offset] ^= 1;
    return bytes;
  };
  expectRefused(damaged(info.header.manifestOffset + 5), {"checksum of the manifest"});
  expectRefused(damaged(info.header.tokenizerOffset + 5), {"checksum of the tokenizer"});
  expectRefused(damaged(info.header.templateOffset + 5), {"checksum of the chat template"});
  writeBytes(folder / "broken.so", damaged(info.header.weightsOffset + 77));
  const PayloadInfo broken = readPayloadInfo(folder / "broken.so", abi);
  expectFailure(ErrorCode::BadInput, {"checksum of the weights", "expected"},
                [&] { verifyWeights(folder / "broken.so", broken); });
}

TEST_F(Payload, AFileCutShortIsRefusedWhereverItEnds) {
  const auto source = sampleSource();
  write(source.get());
  const auto good = readBytes(folder / "model.so");
  std::vector<uint64_t> sizes = {0,
                                 1,
                                 63,
                                 64,
                                 200,
                                 1000,
                                 payloadStart - 1,
                                 payloadStart,
                                 payloadStart + 100,
                                 payloadStart + 4096,
                                 payloadStart + 5000,
                                 good.size() - 4096,
                                 good.size() - 1};
  for (uint64_t size : sizes) {
    SCOPED_TRACE(size);
    expectRefused({good.begin(), good.begin() + long(size)}, {"expected"});
  }
}

TEST_F(Payload, FilesThatAreNoModelAreRefused) {
  const auto code = linkedCode();
  expectRefused(code, {"no program header of type 0x60494e46"});
  const auto changed = [&](uint64_t offset, uint8_t value) {
    auto bytes = code;
    bytes[offset] = value;
    return bytes;
  };
  expectRefused(changed(0, 'X'), {"expected an ELF file"});
  expectRefused(changed(EI_CLASS, ELFCLASS32), {"64-bit little-endian"});
  expectRefused(changed(offsetof(Elf64_Ehdr, e_type), ET_EXEC), {"shared library"});
  expectRefused(changed(offsetof(Elf64_Ehdr, e_machine), EM_AARCH64), {"machine 183"});
  expectRefused(changed(offsetof(Elf64_Ehdr, e_phentsize), 1), {"program headers of 1 bytes"});
  expectRefused(changed(offsetof(Elf64_Ehdr, e_phoff) + 7, 0xff), {"program headers at byte"});
  expectFailure(ErrorCode::Io, {"No such file"}, [&] { readPayloadInfo(folder / "no.so", abi); });
}

TEST_F(Payload, ALibraryWithoutPlaceholdersIsRefused) {
  auto code = linkedCode();
  const std::string name = payloadSectionName;
  const auto found = std::search(code.begin(), code.end(), name.begin(), name.end());
  ASSERT_NE(found, code.end());
  *found = 'X';
  const auto writeIt = [&] {
    writeModel(code, sampleContents(), nullptr, folder / "model.so", 1, {});
  };
  expectFailure(ErrorCode::BadInput, {"no section .inf.payload"}, writeIt);
  code = linkedCode();
  Elf64_Ehdr header;
  std::memcpy(&header, code.data(), sizeof(header));
  uint32_t note = 0; // turn every program header into a note, then none
  for (uint32_t type : {uint32_t(PT_NOTE), uint32_t(PT_NULL)}) {
    for (uint64_t i = 0; i < header.e_phnum; ++i)
      std::memcpy(code.data() + header.e_phoff + i * sizeof(Elf64_Phdr), &type, 4);
    expectFailure(ErrorCode::BadInput,
                  {note++ == 0 ? "two program headers" : "no PT_NOTE program header"}, writeIt);
  }
  EXPECT_TRUE(folder.names().empty());
}

TEST_F(Payload, AManifestThatWasNotLaidOutIsRefused) {
  PayloadContents contents = sampleContents();
  contents.manifest.weights[1].offset = 0;
  expectFailure(ErrorCode::BadInput, {"weights[1].offset"},
                [&] { writeModel(linkedCode(), contents, nullptr, folder / "model.so", 1, {}); });
}

TEST_F(Payload, AFullDiskLeavesNothingBehind) {
  const auto source = sampleSource();
  const FileSizeLimit limit(payloadAlignment * 2 + 1000); // room for all but the weights
  expectFailure(ErrorCode::Io, {folder / "model.so", "bytes are needed"},
                [&] { write(source.get()); });
  EXPECT_TRUE(folder.names().empty());
}

TEST_F(Payload, ASourceThatFailsLeavesNothingBehind) {
  auto decls = declsOf(sampleManifest());
  decls.pop_back();
  const auto source = makeRandomSource(11, decls);
  expectFailure(ErrorCode::BadInput, {"'head'"}, [&] { write(source.get()); });
  EXPECT_TRUE(folder.names().empty());
}

} // namespace
} // namespace inf
