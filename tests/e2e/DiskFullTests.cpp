// Writing onto a full disk: Io, the bytes that were needed, and nothing half-written stays, neither
// the output nor a temporary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/Models.h"
#include "tests/runtime/format/TestSupport.h"

using namespace inf;
using namespace inf::test;

namespace {

constexpr int io = 5;

void expectNothingStays(const std::function<Finished(const std::string &path, RunLimits)> &write,
                        const std::vector<uint64_t> &limits) {
  for (uint64_t bytes : limits) {
    SCOPED_TRACE(bytes);
    const TempFolder folder;
    RunLimits limit;
    limit.fileBytes = bytes;
    expectRefused(write(folder / "out", limit), io, {"out", "free space"});
    EXPECT_TRUE(folder.names().empty()) << testing::PrintToString(folder.names());
  }
}

} // namespace

TEST(DiskFull, ofACompile) {
  // In turn too small for: an object, the linked library, the payload, its weights.
  expectNothingStays(
      [](const std::string &path, RunLimits limit) {
        return infc({"compile", tinyModel, "-q", "--target=avx2", "-o", path}, limit);
      },
      {3000, 64 << 10, 1 << 20, 9 << 20});
}

TEST(DiskFull, ofStandardErrorStillGivesTheExitCode) {
  const TempFolder folder;
  RunLimits limit;
  limit.fileBytes = 10; // stderr is a file here
  EXPECT_EQ(infc({"compile", folder / "none", "-o", folder / "out"}, limit).code, io);
  EXPECT_EQ(infrun({folder / "none", "--ids", "1"}, limit).code, io);
}

TEST(DiskFull, ofStandardOutput) {
  const std::string model = tinyExact("avx2");
  RunLimits limit;
  limit.fileBytes = 300; // enough for the message on stderr
  for (const Arguments &arguments :
       {Arguments{"inspect", "--json", model}, Arguments{"kernels"},
        Arguments{"compile", tinyModel, "-q", "--emit=mlir", "-o", "-"}}) {
    const Finished finished = infc(arguments, limit);
    EXPECT_EQ(finished.code, io) << arguments.front() << ": " << finished.err;
    EXPECT_THAT(finished.err, testing::HasSubstr("error: ")) << arguments.front();
  }
}

TEST(DiskFull, ofEmittedText) {
  expectNothingStays(
      [](const std::string &path, RunLimits limit) {
        return infc({"compile", tinyModel, "-q", "--target=avx2", "--emit=mlir", "-o", path},
                    limit);
      },
      {1000});
}

TEST(DiskFull, ofAnImport) {
  expectNothingStays(
      [](const std::string &path, RunLimits limit) {
        return infc({"import", tinyModel, "-o", path}, limit);
      },
      {1000});
}

TEST(DiskFull, ofAFill) {
  const std::string small = compiled(tinyModel, {"--target=avx2", "--weights=none"});
  expectNothingStays(
      [&](const std::string &path, RunLimits limit) {
        return infrun({"fill", small, "--random", "1", "-o", path}, limit);
      },
      {1 << 20, 9 << 20});
}

TEST(DiskFull, ofALogitsFile) {
  const std::string model = tinyExact("avx2");
  const TempFolder input;
  writeBytes(input / "ids.jsonl", std::string("{\"ids\": [1, 2, 3, 4, 5, 6]}\n"));
  expectNothingStays(
      [&](const std::string &path, RunLimits limit) {
        return infrun({"score", model, "--ids", input / "ids.jsonl", "--logits", path}, limit);
      },
      {50000});
}
