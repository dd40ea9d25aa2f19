// The same input and flags give the same bytes, wherever and however the compiler ran.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/e2e/Models.h"
#include "tests/runtime/format/TestSupport.h"

using namespace inf;
using namespace inf::test;

namespace {

/// Compiles a copy of the model in a folder of its own, from that folder.
std::vector<uint8_t> compileIn(const TempFolder &folder, const std::string &place,
                               const Arguments &flags) {
  const std::string directory = folder / place;
  std::filesystem::create_directories(directory);
  std::filesystem::copy(tinyModel, directory + "/gpt-oss-tiny");
  Arguments arguments = {"compile", "gpt-oss-tiny", "-q", "--target=avx2", "-o", "out.so"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  RunLimits limits;
  limits.directory = directory;
  const Finished finished = infc(arguments, limits);
  EXPECT_EQ(finished.code, 0) << finished.err;
  return readBytes(directory + "/out.so");
}

bool holds(const std::vector<uint8_t> &bytes, const std::string &text) {
  return std::search(bytes.begin(), bytes.end(), text.begin(), text.end()) != bytes.end();
}

} // namespace

TEST(Reproducible, twoDirectoriesAndTwoNumbersOfThreadsGiveTheSameBytes) {
  const TempFolder folder;
  const std::vector<uint8_t> first = compileIn(folder, "one", {"--threads=1"});
  const std::vector<uint8_t> second = compileIn(folder, "another/deeper", {"--threads=2"});
  ASSERT_GT(first.size(), size_t{10} << 20);
  EXPECT_TRUE(first == second);
  EXPECT_FALSE(holds(first, folder.path.filename().string())) << "no path in the file";
  EXPECT_FALSE(holds(first, INF_SOURCE_DIR)) << "nor the compiler's own";
}

TEST(Reproducible, randomWeightsAddedByEitherProgramGiveTheSameBytes) {
  const TempFolder folder;
  const std::string whole = compiled(tinyModel, {"--target=avx2", "--weights=random:7"});
  const std::string small = compiled(tinyModel, {"--target=avx2", "--weights=none"});
  const std::string filled = folder / "filled.so", other = folder / "other.so";
  EXPECT_EQ(infrun({"fill", small, "--random", "7", "-o", filled}).code, 0);
  EXPECT_EQ(infrun({"fill", small, "--random", "8", "-o", other}).code, 0);
  EXPECT_TRUE(readBytes(whole) == readBytes(filled));
  EXPECT_FALSE(readBytes(whole) == readBytes(other)) << "the seed counts";
  EXPECT_LT(std::filesystem::file_size(small), std::filesystem::file_size(whole) / 3);
}

TEST(Reproducible, randomWeightsRun) {
  const std::string model = compiled(tinyModel, {"--target=avx2", "--weights=random:7"});
  const Finished finished = infrun({model, "--ids", "1,2,3", "--max-tokens", "4"});
  EXPECT_EQ(finished.code, 0) << finished.err; // the sampler refuses logits that are not finite
}

TEST(Reproducible, aModelWithoutWeightsIsRefusedAndFillIsNamed) {
  const std::string small = compiled(tinyModel, {"--target=avx2", "--weights=none"});
  expectRefused(infrun({small, "--ids", "1"}), 4, {small, "without weights", "infrun fill"});
}
