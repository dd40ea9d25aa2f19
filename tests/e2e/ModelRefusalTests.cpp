// Compiled models that infrun must refuse before it runs a byte of them.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/abi/inf_abi.h"
#include "runtime/format/PayloadLayout.h"
#include "runtime/loader/CheckMachine.h"
#include "tests/e2e/Models.h"
#include "tests/runtime/format/TestSupport.h"

using namespace inf;
using namespace inf::test;

namespace {

constexpr int machine = 3, badInput = 4, tooLong = 6;

/// A good model's bytes, with its payload header to change.
class ModelRefusal : public testing::Test {
protected:
  const std::string original = tinyExact("avx2");
  const PayloadInfo info = readPayloadInfo(original, INF_ABI_VERSION);
  std::vector<uint8_t> bytes = readBytes(original);
  PayloadHeader header = info.header;

  /// Writes the header back, with a checksum that fits it.
  void putHeader() {
    header.headerChecksum = payloadHeaderChecksum(header);
    std::memcpy(bytes.data() + info.fileOffset, &header, sizeof header);
  }

  void expectModelRefused(int code, const std::vector<std::string> &parts) {
    const std::string path = folder / "model.so";
    writeBytes(path, bytes);
    expectRefused(infrun({path, "--ids", "1,2", "--max-tokens", "1"}), code, parts);
  }

  TempFolder folder;
};

/// A feature this machine lacks; a bit that no feature has yet when it lacks none.
Feature lackingFeature() {
  for (unsigned bit = unsigned(Feature::Count); bit-- > 0;)
    if (!hostMachine().features.has(Feature(bit)))
      return Feature(bit);
  return Feature(60);
}

} // namespace

/// As the release before wrote it: without keys that are required now.
TEST_F(ModelRefusal, aManifestOfTheReleaseBeforeNamesBothVersions) {
  const auto begin = bytes.begin() + std::ptrdiff_t(info.fileOffset + header.manifestOffset);
  nlohmann::ordered_json manifest =
      nlohmann::ordered_json::parse(begin, begin + std::ptrdiff_t(header.manifestBytes));
  manifest["version"] = 1;
  for (auto &weight : manifest["weights"])
    weight.erase("format_from");
  for (auto &stage : manifest["stages"])
    stage.erase("outputs");
  std::string text = manifest.dump();
  ASSERT_LE(text.size(), header.manifestBytes);
  text.resize(header.manifestBytes, ' ');
  std::copy(text.begin(), text.end(), begin);
  header.manifestChecksum = checksumOf(text);
  putHeader();
  expectModelRefused(badInput, {"model.so: manifest version 1, expected 2", "older release",
                                "compile the model again"});
}

TEST_F(ModelRefusal, aHeaderThatIsBroken) {
  header.magic[3] ^= 1;
  putHeader();
  expectModelRefused(badInput, {"magic", "INFPAYLD", "compile it again"});
}

TEST_F(ModelRefusal, aHeaderWhoseChecksumIsOff) {
  bytes[info.fileOffset + offsetof(PayloadHeader, manifestBytes)] ^= 1;
  expectModelRefused(badInput, {"header checksum", "expected", "compile it again"});
}

TEST_F(ModelRefusal, anotherAbiVersion) {
  header.abiVersion = INF_ABI_VERSION + 1;
  putHeader();
  expectModelRefused(badInput,
                     {fmt::format("ABI version {}", INF_ABI_VERSION + 1),
                      fmt::format("expected {}", INF_ABI_VERSION), "infc of this release"});
}

TEST_F(ModelRefusal, aPayloadThatIsCut) {
  const std::vector<uint8_t> whole = bytes;
  const uint64_t manifest = info.fileOffset + info.header.manifestOffset;
  for (uint64_t size : {uint64_t{0}, uint64_t{63}, uint64_t{5000}, info.fileOffset - 1,
                        info.fileOffset + 100, manifest + 10, uint64_t(whole.size() - 1)}) {
    SCOPED_TRACE(size);
    bytes.assign(whole.begin(), whole.begin() + std::ptrdiff_t(size));
    expectModelRefused(badInput, {"model.so"});
  }
}

TEST_F(ModelRefusal, aManifestThatWasChanged) {
  bytes[info.fileOffset + info.header.manifestOffset + 20] ^= 1;
  expectModelRefused(badInput, {"checksum of the manifest", "expected"});
}

TEST_F(ModelRefusal, featuresThisCpuLacksAreNamed) {
  const Feature lacking = lackingFeature();
  header.featureBits |= FeatureSet{}.with(lacking).bits;
  // The manifest says the same: what is refused is the need alone. Written without spaces it is
  // shorter, and blanks fill it up to its old size.
  const auto begin = bytes.begin() + std::ptrdiff_t(info.fileOffset + info.header.manifestOffset);
  auto manifest =
      nlohmann::ordered_json::parse(begin, begin + std::ptrdiff_t(info.header.manifestBytes));
  manifest["feature_bits"] = header.featureBits;
  std::string text = manifest.dump();
  text.resize(info.header.manifestBytes, ' ');
  std::copy(text.begin(), text.end(), begin);
  header.manifestChecksum = checksumOf(text);
  putHeader();
  const std::string name = FeatureSet{}.with(lacking).toString();
  expectModelRefused(machine, {name, "does not offer", "infc compile --target=", "infrun doctor"});
}

TEST_F(ModelRefusal, codeAndPayloadOfTwoCompilations) {
  header.buildId[0] ^= 1;
  putHeader();
  expectModelRefused(badInput, {"build id"});
}

TEST_F(ModelRefusal, aFileThatIsNoModel) {
  const std::string text = "#!/bin/sh\necho no\n";
  bytes.assign(text.begin(), text.end());
  expectModelRefused(badInput, {"model.so"});
  expectRefused(infrun({folder / "none.so", "--ids", "1"}), 5, {"none.so"});
  expectRefused(infrun({INFRUN_PATH, "--ids", "1"}), badInput, {"infrun"});
}

TEST_F(ModelRefusal, aPromptLongerThanTheContext) {
  std::string ids = "1";
  for (int i = 1; i < 50; ++i)
    ids += ",1";
  expectRefused(infrun({original, "--ids", ids, "--context", "49"}), tooLong,
                {"50 tokens", "holds 49", "--context"});
  EXPECT_EQ(infrun({original, "--ids", ids, "--context", "50", "--max-tokens", "1"}).code, 0);
}
