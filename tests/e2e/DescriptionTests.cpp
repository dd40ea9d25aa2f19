// Models that are described and not here: each compiles without weights, and the one that the
// documentation writes from scratch runs.
#include <cctype>
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/e2e/Models.h"
#include "tests/runtime/format/TestSupport.h"

using namespace inf;
using namespace inf::test;

namespace {

std::string textOf(const std::string &path) {
  const std::vector<uint8_t> bytes = readBytes(path);
  return {bytes.begin(), bytes.end()};
}

/// The first block of JSON of a page.
std::string exampleOf(const std::string &page) {
  const std::string text = textOf(INF_SOURCE_DIR "/docs/" + page), fence = "```json\n";
  const size_t begin = text.find(fence) + fence.size();
  return text.substr(begin, text.find("```", begin) - begin);
}

std::string nameOfModel(const testing::TestParamInfo<const char *> &model) {
  std::string name = model.param;
  std::erase_if(name, [](unsigned char c) { return !std::isalnum(c); });
  return name;
}

class Description : public testing::TestWithParam<const char *> {};

} // namespace

INSTANTIATE_TEST_SUITE_P(Models, Description,
                         testing::Values("TinyLlama-1.1B", "Llama-3.2-1B", "Qwen3-0.6B",
                                         "Mistral-7B", "Mixtral-8x7B", "Qwen3-30B-A3B"),
                         nameOfModel);

TEST_P(Description, compilesWithoutItsWeights) {
  const TempFolder folder;
  const Finished done =
      infc({"compile", INF_SOURCE_DIR "/models/" + std::string(GetParam()) + ".json",
            "--weights=none", "--no-tokenizer", "--target=avx2", "-q", "-o", folder / "m.so"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_GT(std::filesystem::file_size(folder / "m.so"), 10000u);
}

TEST(DescriptionOfTheDocumentation, compilesAndRuns) {
  const TempFolder folder;
  writeBytes(folder / "mine.json", exampleOf("bring-your-own-model.md"));
  const Finished compiled = infc({"compile", folder / "mine.json", "--weights=random:1",
                                  "--target=avx2", "-q", "-o", folder / "mine.so"});
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  const Finished run = infrun({folder / "mine.so", "--ids", "1,2,3", "--max-tokens", "8"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_FALSE(run.out.empty());
}
