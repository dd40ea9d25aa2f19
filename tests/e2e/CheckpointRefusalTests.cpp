// Checkpoints that infc must refuse: exit code, what is wrong, expected against found, what to do.
// Every byte of every header is for tests/runtime/format; here it is what reaches the user.
#include <gtest/gtest.h>

#include "tests/e2e/CheckpointCopy.h"

using namespace inf;
using namespace inf::test;
using Json = nlohmann::ordered_json;
using Data = std::vector<uint8_t>;

namespace {

constexpr int badInput = 4, io = 5;
constexpr char finalNorm[] = "model.norm.weight";

/// The shard that holds a tensor.
std::string shardOf(const CheckpointCopy &copy, const std::string &tensor) {
  const Data bytes = readBytes(copy.path(shardIndex));
  return Json::parse(bytes)["weight_map"][tensor];
}

std::string otherShard(const std::string &shard) {
  return shard == firstShard ? secondShard : firstShard;
}

uint64_t beginOf(const Json &tensor) { return tensor["data_offsets"][0]; }
uint64_t endOf(const Json &tensor) { return tensor["data_offsets"][1]; }

} // namespace

TEST(CheckpointRefusal, theUntouchedCopyCompiles) {
  CheckpointCopy copy;
  const TempFolder folder;
  const Finished finished =
      infc({"compile", copy.path(), "-q", "--target=avx2", "-o", folder / "model.so"});
  EXPECT_EQ(finished.code, 0) << finished.err; // so the others are refused for what they changed
}

TEST(CheckpointRefusal, aMissingShard) {
  CheckpointCopy copy;
  std::filesystem::remove(copy.path(secondShard));
  copy.expectRefusal(io, {secondShard, "missing", "download"});
}

TEST(CheckpointRefusal, noWeightsAtAll) {
  CheckpointCopy copy;
  for (const char *name : {firstShard, secondShard, shardIndex})
    std::filesystem::remove(copy.path(name));
  copy.expectRefusal(badInput, {"--weights"});
}

TEST(CheckpointRefusal, aShardCutShort) {
  CheckpointCopy whole;
  const uint64_t size = std::filesystem::file_size(whole.path(secondShard));
  for (uint64_t bytes :
       {uint64_t{0}, uint64_t{4}, uint64_t{8}, uint64_t{2000}, size / 2, size - 1}) {
    SCOPED_TRACE(bytes);
    CheckpointCopy copy;
    copy.cutFile(secondShard, bytes);
    copy.expectRefusal(badInput, {secondShard, "expected", "again"});
  }
}

TEST(CheckpointRefusal, overlappingTensors) {
  CheckpointCopy copy;
  copy.editShard(secondShard, [](Json &header, Data &) {
    // Moved into the tensor before it, as long as before.
    for (auto &item : header.items()) {
      if (item.key() == "__metadata__" || beginOf(item.value()) == 0)
        continue;
      item.value()["data_offsets"] = {beginOf(item.value()) - 2, endOf(item.value()) - 2};
      return;
    }
  });
  copy.expectRefusal(badInput, {secondShard, "overlap", "download"});
}

TEST(CheckpointRefusal, anIndexThatLeavesItsDirectory) {
  for (const char *name :
       {"../model-00001-of-00002.safetensors", "/etc/passwd", "a/b.safetensors"}) {
    CheckpointCopy copy;
    copy.editJson(shardIndex, [&](Json &index) { index["weight_map"][finalNorm] = name; });
    copy.expectRefusal(badInput, {shardIndex, finalNorm, name, "plain file name"});
  }
}

TEST(CheckpointRefusal, aTensorInTwoShards) {
  CheckpointCopy copy;
  const std::string other = otherShard(shardOf(copy, finalNorm));
  copy.editShard(other, [](Json &header, Data &data) {
    const uint64_t begin = data.size();
    data.resize(begin + 2 * 192);
    header[finalNorm] = {
        {"dtype", "BF16"}, {"shape", {192}}, {"data_offsets", {begin, data.size()}}};
  });
  copy.expectRefusal(badInput, {finalNorm, firstShard, secondShard, "remove"});
}

TEST(CheckpointRefusal, aMissingAndAnExtraTensorAreBothNamed) {
  CheckpointCopy copy;
  const std::string shard = shardOf(copy, finalNorm);
  auto rename = [](Json &object) {
    object["model.norm.wait"] = object[finalNorm];
    object.erase(finalNorm);
  };
  copy.editShard(shard, [&](Json &header, Data &) { rename(header); });
  copy.editJson(shardIndex, [&](Json &index) { rename(index["weight_map"]); });
  copy.expectRefusal(badInput, {"missing", finalNorm, "extra", "model.norm.wait"});
}

TEST(CheckpointRefusal, aTensorOfAnotherShape) {
  CheckpointCopy copy;
  copy.editJson("config.json", [](Json &config) { config["num_key_value_heads"] = 4; });
  copy.expectRefusal(badInput,
                     {"mismatched", "k_proj.weight", "expected", "[256, 192]", "[128, 192]"});
}

TEST(CheckpointRefusal, aScaleThatIsNotANumberIsNamedByTensor) {
  CheckpointCopy copy;
  const std::string scales = "model.layers.3.mlp.experts.down_proj_scales";
  copy.editShard(shardOf(copy, scales),
                 [&](Json &header, Data &data) { data[beginOf(header[scales]) + 77] = 255; });
  copy.expectRefusal(badInput, {scales, "255", "77"});
}

TEST(CheckpointRefusal, aWeightThatIsNotFiniteIsNamedByTensor) {
  CheckpointCopy copy;
  copy.editShard(shardOf(copy, finalNorm), [](Json &header, Data &data) {
    data[beginOf(header[finalNorm]) + 11] = 0x7f; // bf16 0x7fxx of element 5: NaN or infinity
    data[beginOf(header[finalNorm]) + 10] = 0x80;
  });
  copy.expectRefusal(badInput, {finalNorm, "5"});
}

TEST(CheckpointRefusal, aTokenizerWithIdsBeyondTheVocabulary) {
  CheckpointCopy copy;
  copy.editJson("tokenizer.json", [](Json &tokenizer) {
    Json token = tokenizer["added_tokens"].back();
    token["id"] = 4096;
    token["content"] = "<|one_too_many|>";
    tokenizer["added_tokens"].push_back(token);
  });
  copy.expectRefusal(badInput, {"tokenizer", "4096", "vocabulary", "4096 rows"});
}
