// infrun score --logits on the real model.
#include <gtest/gtest.h>

#include "runtime/format/Safetensors.h"
#include "tests/e2e/Models.h"
#include "tests/e2e/Sessions.h"
#include "tests/runtime/format/TestSupport.h"

using namespace inf;
using namespace inf::test;

TEST(Score, logitsFileHoldsEveryTokensLogitsOfEveryLine) {
  const TempFolder folder;
  const std::string model = tinyExact("avx2");
  const std::vector<std::vector<int32_t>> sequences = {{491, 475, 258, 420, 11}, {1024, 267}};
  writeBytes(folder / "ids.jsonl",
             std::string("{\"ids\": [491, 475, 258, 420, 11]}\n{\"ids\": [1024, 267]}\n"));
  const Finished finished = infrun({"score", model, "--ids", folder / "ids.jsonl", "--logits",
                                    folder / "logits.safetensors", "--json"});
  ASSERT_EQ(finished.code, 0) << finished.err;
  const auto file = SafetensorsFile::open(folder / "logits.safetensors");
  ASSERT_EQ(file.tensors().size(), 2u);
  for (size_t line = 0; line < 2; ++line) {
    const TensorInfo *tensor = file.find("line" + std::to_string(line) + ".logits");
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->dtype, DType::F32);
    EXPECT_EQ(tensor->shape, (std::vector<uint64_t>{sequences[line].size(), 4096}));
    const AllLogits expected = soloLogits(model, sequences[line]);
    const auto bytes = file.data(*tensor);
    ASSERT_EQ(bytes.size(), expected.size() * sizeof(float));
    EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), bytes.size()), 0) << "line " << line;
  }
}
