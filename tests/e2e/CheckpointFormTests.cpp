// The same values in other forms of checkpoint: plain experts, f16, other files, other names.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "runtime/abi/inf_abi.h"
#include "runtime/format/NumberFormats.h"
#include "runtime/format/Payload.h"
#include "runtime/format/Safetensors.h"
#include "tests/e2e/CheckpointCopy.h"
#include "tests/e2e/Models.h"
#include "tests/e2e/Sessions.h"
#include "tests/e2e/Tolerances.h"

using namespace inf;
using namespace inf::test;

namespace fs = std::filesystem;

namespace {

const std::vector<int32_t> prompt = {491, 475, 258, 420, 11, 1024, 267, 300, 301, 302, 303, 304};

struct OwnTensor {
  DType dtype;
  std::vector<uint64_t> shape;
  std::vector<uint8_t> bytes;
};

/// gpt-oss-tiny's tensors, to be changed and written to a directory of their own.
class RewrittenCheckpoint {
public:
  RewrittenCheckpoint() {
    const auto original = Checkpoint::open(tinyModel);
    for (const TensorInfo *tensor : original->tensors()) {
      const auto bytes = original->data(tensor->name);
      tensors[tensor->name] = {tensor->dtype, tensor->shape, {bytes.begin(), bytes.end()}};
    }
    fs::create_directory(path());
    for (const char *name : {"config.json", "generation_config.json", "tokenizer.json"})
      fs::copy_file(tinyModel + "/" + name, path(name));
  }

  std::string path(const std::string &name = "") const {
    return folder / ("gpt-oss-tiny" + (name.empty() ? "" : "/" + name));
  }

  /// One file; `order` names all tensors.
  void write(const std::string &name, const std::vector<std::string> &order) const {
    std::vector<TensorToWrite> list;
    for (const std::string &tensor : order)
      list.push_back(
          {tensor, tensors.at(tensor).dtype, tensors.at(tensor).shape, tensors.at(tensor).bytes});
    writeSafetensors(path(name), list);
  }
  void write() const { write("model.safetensors", names()); }

  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const auto &[name, tensor] : tensors)
      list.push_back(name);
    return list;
  }

  std::map<std::string, OwnTensor> tensors;

private:
  TempFolder folder;
};

/// What two bits of exponent and one of mantissa mean (OCP Microscaling, E2M1).
constexpr float fp4[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};

/// [experts, rows, blocks, 16] and [experts, rows, blocks] to bf16 [experts, columns, rows]: what a
/// fine-tune saves. `rowTo` is where a row goes.
OwnTensor plainExperts(const OwnTensor &codes, const OwnTensor &scales,
                       const std::function<uint64_t(uint64_t row, uint64_t rows)> &rowTo) {
  const uint64_t experts = codes.shape[0], rows = codes.shape[1], columns = codes.shape[2] * 32;
  OwnTensor plain = {DType::BF16, {experts, columns, rows}, {}};
  plain.bytes.resize(experts * columns * rows * 2);
  for (uint64_t row = 0; row < experts * rows; ++row)
    for (uint64_t column = 0; column < columns; ++column) {
      const uint8_t pair = codes.bytes[(row * columns + column) / 2];
      const uint8_t code = column % 2 ? pair >> 4 : pair & 15;
      const int exponent = scales.bytes[row * columns / 32 + column / 32] - 127;
      const float value = std::ldexp(code & 8 ? -fp4[code & 7] : fp4[code & 7], exponent);
      const uint16_t bits = f32ToBf16(value);
      const uint64_t to = rowTo(row % rows, rows);
      std::memcpy(plain.bytes.data() + ((row / rows * columns + column) * rows + to) * 2, &bits, 2);
    }
  return plain;
}

uint64_t sameRow(uint64_t row, uint64_t) { return row; }
/// Gate rows, then up rows: not what gpt-oss has.
uint64_t apart(uint64_t row, uint64_t rows) { return row / 2 + row % 2 * rows / 2; }

void makeExpertsPlain(RewrittenCheckpoint &checkpoint,
                      const std::function<uint64_t(uint64_t, uint64_t)> &gateUpRow) {
  for (const std::string &name : checkpoint.names()) {
    const std::string ending = "_proj_blocks";
    if (!name.ends_with(ending))
      continue;
    const std::string base = name.substr(0, name.size() - 7); // without "_blocks"
    const bool gateUp = base.ends_with("gate_up_proj");
    checkpoint.tensors[base] =
        plainExperts(checkpoint.tensors.at(name), checkpoint.tensors.at(base + "_scales"),
                     gateUp ? gateUpRow : sameRow);
    checkpoint.tensors.erase(name);
    checkpoint.tensors.erase(base + "_scales");
  }
}

/// As fine-tunes have it: no word of a quantization.
void dropQuantization(const RewrittenCheckpoint &checkpoint) {
  const std::string path = checkpoint.path("config.json");
  nlohmann::ordered_json config = nlohmann::ordered_json::parse(readBytes(path));
  config.erase("quantization_config");
  writeBytes(path, config.dump());
}

double farthest(const std::string &a, const std::string &b) {
  return largestDifference(soloLogits(a, prompt), soloLogits(b, prompt));
}

} // namespace

TEST(CheckpointForm, expertsInPlainBf16GiveTheLogitsOfTheirBlocks) {
  RewrittenCheckpoint checkpoint;
  makeExpertsPlain(checkpoint, sameRow);
  dropQuantization(checkpoint);
  checkpoint.write();
  const double difference =
      farthest(compiled(checkpoint.path(), exactFlags("avx2")), tinyExact("avx2"));
  RecordProperty("difference", std::to_string(difference));
  EXPECT_LT(difference, goldenLogits) << "the same values: only the order of sums may differ";
}

/// That the test above can fail: rows of gate and up are told apart by what they do.
TEST(CheckpointForm, gateAndUpRowsThatDoNotAlternateAreAnotherModel) {
  RewrittenCheckpoint checkpoint;
  makeExpertsPlain(checkpoint, apart);
  checkpoint.write();
  EXPECT_GT(farthest(compiled(checkpoint.path(), exactFlags("avx2")), tinyExact("avx2")), 1.0);
}

TEST(CheckpointForm, plainExpertsUnderTheDefaultPolicyStayWithinItsError) {
  RewrittenCheckpoint checkpoint;
  makeExpertsPlain(checkpoint, sameRow);
  checkpoint.write();
  const AllLogits plain = soloLogits(compiled(checkpoint.path(), {"--target=avx2"}), prompt),
                  blocks = soloLogits(tinyExact("avx2"), prompt);
  double product = 0, ofPlain = 0, ofBlocks = 0;
  for (size_t i = 0; i < plain.size(); ++i) {
    product += double(plain[i]) * blocks[i];
    ofPlain += double(plain[i]) * plain[i];
    ofBlocks += double(blocks[i]) * blocks[i];
  }
  EXPECT_GT(product / std::sqrt(ofPlain * ofBlocks), defaultPolicyCosine);
}

TEST(CheckpointForm, inF16GivesTheLogitsOfBf16) {
  RewrittenCheckpoint checkpoint;
  for (auto &[name, tensor] : checkpoint.tensors) {
    if (tensor.dtype != DType::BF16)
      continue;
    tensor.dtype = DType::F16;
    for (size_t i = 0; i < tensor.bytes.size(); i += 2) {
      uint16_t bits;
      std::memcpy(&bits, tensor.bytes.data() + i, 2);
      bits = f32ToF16(bf16ToF32(bits)); // exact but for values below 6e-5
      std::memcpy(tensor.bytes.data() + i, &bits, 2);
    }
  }
  checkpoint.write();
  EXPECT_LT(farthest(compiled(checkpoint.path(), exactFlags("avx2")), tinyExact("avx2")),
            goldenLogits);
}

TEST(CheckpointForm, aShardForEachTensorAndAnyOrderGiveTheSameFile) {
  const std::vector<uint8_t> expected = readBytes(tinyDefault("avx2"));
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RewrittenCheckpoint whole, split;
  std::vector<std::string> order = whole.names();
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  whole.write("model.safetensors", order);
  nlohmann::ordered_json map;
  for (size_t i = 0; i < order.size(); ++i) {
    const std::string shard = "part-" + std::to_string(i) + ".safetensors";
    split.write(shard, {order[i]});
    map[order[i]] = shard;
  }
  writeBytes(split.path("model.safetensors.index.json"),
             nlohmann::ordered_json{{"weight_map", map}}.dump());
  for (const RewrittenCheckpoint *checkpoint : {&whole, &split})
    EXPECT_TRUE(readBytes(compiled(checkpoint->path(), {"--target=avx2"})) == expected)
        << (checkpoint == &whole ? "in one file" : "in a file each");
}

TEST(CheckpointForm, namesBehindAPrefixGiveTheSameLogits) {
  const AllLogits expected = soloLogits(tinyDefault("avx2"), prompt);
  for (const std::string prefix : {"language_model.", "base.inner."}) {
    RewrittenCheckpoint checkpoint;
    for (const std::string &name : checkpoint.names()) {
      auto node = checkpoint.tensors.extract(name);
      node.key() = prefix + name;
      checkpoint.tensors.insert(std::move(node));
    }
    checkpoint.write();
    EXPECT_TRUE(
        sameBits(soloLogits(compiled(checkpoint.path(), {"--target=avx2"}), prompt), expected))
        << prefix;
  }
}

TEST(CheckpointForm, aTemplateInTheTokenizersConfigurationIsCarried) {
  const std::string text = "{% for m in messages %}<|im_start|>{{ m }}{% endfor %}";
  const nlohmann::json list = {{{"name", "tool_use"}, {"template", "no"}},
                               {{"name", "default"}, {"template", text}}};
  for (const nlohmann::json &value : {nlohmann::json(text), list}) {
    CheckpointCopy checkpoint;
    checkpoint.editJson("tokenizer_config.json",
                        [&](auto &config) { config["chat_template"] = value; });
    TempFolder folder;
    const Finished done = infc({"compile", checkpoint.path(), "--weights=none", "--target=avx2",
                                "-q", "-o", folder / "m.so"});
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(readPayloadInfo(folder / "m.so", INF_ABI_VERSION).chatTemplate, text);
  }
}
