// How much memory a compile takes.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/Models.h"
#include "tests/runtime/format/TestSupport.h"

using namespace inf;
using namespace inf::test;

namespace {

constexpr uint64_t megabyte = uint64_t{1} << 20;

/// A llama of one layer with two matrices of 128 MB, all zeros in a sparse file.
class LargeCheckpoint : public testing::Test {
protected:
  LargeCheckpoint() {
    constexpr uint64_t vocabulary = 131072, hidden = 512, width = 64;
    writeBytes(folder / "config.json", nlohmann::json{{"model_type", "llama"},
                                                      {"architectures", {"LlamaForCausalLM"}},
                                                      {"vocab_size", vocabulary},
                                                      {"hidden_size", hidden},
                                                      {"intermediate_size", width},
                                                      {"num_hidden_layers", 1},
                                                      {"num_attention_heads", 1},
                                                      {"num_key_value_heads", 1},
                                                      {"head_dim", width},
                                                      {"max_position_embeddings", 64},
                                                      {"rms_norm_eps", 1e-5},
                                                      {"rope_theta", 10000.0},
                                                      {"hidden_act", "silu"},
                                                      {"tie_word_embeddings", false}}
                                           .dump());
    const std::string layer = "model.layers.0.";
    add("model.embed_tokens.weight", {vocabulary, hidden});
    add("lm_head.weight", {vocabulary, hidden});
    add("model.norm.weight", {hidden});
    add(layer + "input_layernorm.weight", {hidden});
    add(layer + "post_attention_layernorm.weight", {hidden});
    for (const char *name : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                             "mlp.gate_proj", "mlp.up_proj"})
      add(layer + name + ".weight", {width, hidden});
    add(layer + "self_attn.o_proj.weight", {hidden, width});
    add(layer + "mlp.down_proj.weight", {hidden, width});
    writeHeader();
  }

  void add(const std::string &name, const std::vector<uint64_t> &shape) {
    uint64_t bytes = 2;
    for (const uint64_t dimension : shape)
      bytes *= dimension;
    header[name] = {{"dtype", "BF16"}, {"shape", shape}, {"data_offsets", {end, end + bytes}}};
    end += bytes;
  }

  void writeHeader() {
    const std::string text = header.dump();
    std::string bytes(8, '\0');
    const uint64_t length = text.size();
    std::memcpy(bytes.data(), &length, sizeof length);
    writeBytes(folder / "model.safetensors", bytes + text);
    std::filesystem::resize_file(folder / "model.safetensors", bytes.size() + text.size() + end);
  }

  Finished compile(const Arguments &flags) {
    Arguments arguments = {"compile",       folder / "", "--no-tokenizer",
                           "--target=avx2", "-o",        folder / "model.so"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return infc(arguments);
  }

  TempFolder folder;
  nlohmann::ordered_json header;
  uint64_t end = 0;
};

} // namespace

TEST_F(LargeCheckpoint, isPackedInLessMemoryThanItHasBytes) {
  ASSERT_GT(end, 256 * megabyte);
  const Finished finished = compile({"--threads", "2"});
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_LT(finished.peakBytes, 190 * megabyte) << "what is linked into infc, and 4 MB buffers";
  RecordProperty("peak_mb", int(finished.peakBytes / megabyte));
}

TEST_F(LargeCheckpoint, isPackedByAsManyThreadsAsTheMemoryAllows) {
  const Finished finished = compile({"--threads", "64", "--max-memory", "240M"});
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_THAT(finished.err, testing::HasSubstr("of 64 threads pack weights"));
  EXPECT_LE(finished.peakBytes, 240 * megabyte);
  RecordProperty("peak_mb", int(finished.peakBytes / megabyte));
}

TEST_F(LargeCheckpoint, isRefusedNamingWhatItNeedsBeforeAnythingIsWritten) {
  const Finished refused = compile({"--max-memory", "100M"});
  expectRefused(refused, 3, {"--max-memory=100M is too little", "needs", "nothing was written"});
  EXPECT_FALSE(std::filesystem::exists(folder / "model.so"));
  const size_t at = refused.err.find("needs ") + 6;
  const std::string needed = refused.err.substr(at, refused.err.find('M', at) + 1 - at);
  const Finished enough = compile({"--threads", "1", "--max-memory", needed});
  EXPECT_EQ(enough.code, 0) << "what was named is not enough: " << enough.err;
}

/// Neither a second copy of the weights nor an unpacked one: what is resident is the file, the
/// cache of keys and values and the program.
TEST_F(LargeCheckpoint, runsInTheMemoryOfItsFileMappedOrCopied) {
  ASSERT_EQ(compile({}).code, 0);
  const uint64_t file = std::filesystem::file_size(folder / "model.so");
  ASSERT_GT(file, 128 * megabyte);
  for (const char *load : {"map", "copy"}) {
    const Finished finished = infrun({folder / "model.so", "--ids", "1,2,3", "--max-tokens", "32",
                                      "--load", load, "--threads", "2"});
    ASSERT_EQ(finished.code, 0) << finished.err;
    EXPECT_LT(finished.peakBytes, file + file / 20 + 32 * megabyte) << load;
    RecordProperty(load, int(finished.peakBytes / megabyte));
  }
}

TEST(MaxMemory, thatIsNoSizeIsRefused) {
  for (const char *size : {"M", "0", "12T", "1.5G", "99999999999999999999", "17179869184G"})
    expectRefused(
        infc({"compile", tinyModel, "-o", "/tmp/never.so", std::string("--max-memory=") + size}), 2,
        {"--max-memory"});
}
