// The published sizes, without their weights.
#include <gtest/gtest.h>

#include <cstring>

#include <elf.h>
#include <sys/resource.h>

#include "runtime/abi/inf_abi.h"
#include "runtime/format/Payload.h"
#include "tests/e2e/Models.h"
#include "tests/runtime/format/TestSupport.h"

using namespace inf;
using namespace inf::test;

namespace {

double childSeconds() {
  rusage usage;
  getrusage(RUSAGE_CHILDREN, &usage);
  auto seconds = [](timeval t) { return double(t.tv_sec) + double(t.tv_usec) / 1e6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string described(const std::string &name) {
  return compiled(INF_SOURCE_DIR "/models/" + name + ".json",
                  {"--weights=none", "--target=avx512"});
}

/// Bytes that are loaded as code, constants and tables.
uint64_t loadedBytes(const std::string &path) {
  const std::vector<uint8_t> file = readBytes(path);
  Elf64_Ehdr elf;
  std::memcpy(&elf, file.data(), sizeof elf);
  uint64_t bytes = 0;
  for (unsigned i = 0; i < elf.e_phnum; ++i) {
    Elf64_Phdr header;
    std::memcpy(&header, file.data() + elf.e_phoff + i * sizeof header, sizeof header);
    if (header.p_type == PT_LOAD)
      bytes += header.p_filesz;
  }
  return bytes;
}

} // namespace

TEST(FullSize, gptOss120bCompilesWithinTenSeconds) {
  const double before = childSeconds();
  described("gpt-oss-120b");
  // Of its own time: on a busy machine the clock on the wall counts the neighbours'.
  EXPECT_LT(childSeconds() - before, 10);
}

TEST(FullSize, codeDoesNotGrowWithDepthOrExperts) {
  const PayloadInfo small = readPayloadInfo(described("gpt-oss-20b"), INF_ABI_VERSION);
  const PayloadInfo large = readPayloadInfo(described("gpt-oss-120b"), INF_ABI_VERSION);
  ASSERT_EQ(small.manifest.layers, 24u);
  ASSERT_EQ(large.manifest.layers, 36u);
  const uint64_t smallBytes = loadedBytes(described("gpt-oss-20b"));
  const uint64_t largeBytes = loadedBytes(described("gpt-oss-120b"));
  // What a layer may add: its row in the table of weight offsets (13 of 8 bytes), its number in the
  // KV group's list, and the call of its block in the step with the barrier and the tap beside it.
  const uint64_t layers = (36 - 24) * 384;
  // The blocks differ only in constants; a few of 128 experts' no longer fit one byte.
  constexpr uint64_t constants = 256;
  EXPECT_LE(largeBytes, smallBytes + layers + constants);
  EXPECT_GT(largeBytes, smallBytes) << "the table is there";
}

TEST(FullSize, kernelsAreTheSame) {
  auto kernels = [](const std::string &name) {
    std::vector<std::pair<std::string, uint64_t>> list;
    for (const KernelUse &use : readPayloadInfo(described(name), INF_ABI_VERSION).manifest.kernels)
      list.emplace_back(use.symbol, use.codeBytes);
    return list;
  };
  EXPECT_EQ(kernels("gpt-oss-20b"), kernels("gpt-oss-120b"));
}
