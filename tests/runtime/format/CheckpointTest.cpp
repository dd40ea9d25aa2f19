#include "runtime/format/Safetensors.h"
#include "tests/runtime/format/TestSupport.h"

namespace inf {
namespace {

using namespace test;

const std::vector<uint8_t> fourBytes = {1, 2, 3, 4};

void writeShard(const std::string &path, const std::vector<std::string> &names) {
  std::vector<TensorToWrite> tensors;
  for (const std::string &name : names)
    tensors.push_back({name, DType::U8, {4}, fourBytes});
  writeSafetensors(path, tensors);
}

void writeIndex(const TempFolder &folder, const std::string &map) {
  writeBytes(folder / "model.safetensors.index.json", "{\"weight_map\":{" + map + "}}");
}

void expectRefused(const TempFolder &folder, ErrorCode code,
                   const std::vector<std::string> &parts) {
  expectFailure(code, parts, [&] { Checkpoint::open(folder.path.string()); });
}

TEST(Checkpoint, OneFileOrShardsReadAlike) {
  const TempFolder folder;
  writeShard(folder / "model.safetensors", {"b", "a"});
  const auto single = Checkpoint::open(folder.path.string());
  ASSERT_EQ(single->tensors().size(), 2u);
  EXPECT_EQ(single->tensors()[0]->name, "a");
  std::filesystem::remove(folder / "model.safetensors");
  writeShard(folder / "1.safetensors", {"a"});
  writeShard(folder / "2.safetensors", {"b"});
  writeIndex(folder, R"("a":"1.safetensors","b":"2.safetensors")");
  const auto sharded = Checkpoint::open(folder.path.string());
  std::vector<uint8_t> out(2);
  sharded->read("b", 2, out);
  EXPECT_THAT(out, testing::ElementsAre(3, 4));
  EXPECT_EQ(sharded->data("a").size(), 4u);
  EXPECT_EQ(sharded->find("c"), nullptr);
}

TEST(Checkpoint, ReadsOutsideOfATensorAreRefused) {
  const TempFolder folder;
  writeShard(folder / "model.safetensors", {"a"});
  const auto checkpoint = Checkpoint::open(folder.path.string());
  std::vector<uint8_t> out(4);
  for (uint64_t offset : {uint64_t(1), uint64_t(5), UINT64_MAX - 1})
    expectFailure(ErrorCode::BadInput, {"'a'", "4 bytes"},
                  [&] { checkpoint->read("a", offset, out); });
  expectFailure(ErrorCode::BadInput, {"'x'"}, [&] { checkpoint->read("x", 0, out); });
  expectFailure(ErrorCode::BadInput, {"'x'"}, [&] { checkpoint->data("x"); });
}

TEST(Checkpoint, AnIndexThatLeavesTheDirectoryIsRefused) {
  const TempFolder folder;
  writeShard(folder / "1.safetensors", {"a"});
  for (const char *name : {"..", ".", "", "../1.safetensors", "/etc/passwd", "sub/1.safetensors",
                           "a\\\\b", "1.safetensors\\u0000"}) {
    writeIndex(folder, fmt::format(R"("a":"{}")", name));
    expectRefused(folder, ErrorCode::BadInput, {"'a'", "plain file name"});
  }
}

TEST(Checkpoint, AnIndexThatIsNotOneIsRefused) {
  const TempFolder folder;
  writeIndex(folder, R"("a":3)");
  expectRefused(folder, ErrorCode::BadInput, {"weight_map.a"});
  writeIndex(folder, R"("a":"1","a":"2")");
  expectRefused(folder, ErrorCode::BadInput, {"key 'a' twice"});
  for (const char *text : {"", "{", "[]", "{}", R"({"weight_map":[]})"}) {
    writeBytes(folder / "model.safetensors.index.json", std::string(text));
    expectRefused(folder, ErrorCode::BadInput, {"index.json"});
  }
}

TEST(Checkpoint, ATensorInTwoShardsIsRefused) {
  const TempFolder folder;
  writeShard(folder / "1.safetensors", {"a", "b"});
  writeShard(folder / "2.safetensors", {"b"});
  writeIndex(folder, R"("a":"1.safetensors","b":"2.safetensors")");
  expectRefused(folder, ErrorCode::BadInput, {"'b'", "1.safetensors", "2.safetensors"});
}

TEST(Checkpoint, AMissingShardIsNamed) {
  const TempFolder folder;
  writeShard(folder / "1.safetensors", {"a"});
  writeIndex(folder, R"("a":"1.safetensors","b":"2.safetensors")");
  expectRefused(folder, ErrorCode::Io, {"2.safetensors", "'b'", "missing"});
}

TEST(Checkpoint, AShardThatLacksANamedTensorIsRefused) {
  const TempFolder folder;
  writeShard(folder / "1.safetensors", {"a", "c"});
  writeShard(folder / "2.safetensors", {"b"});
  writeIndex(folder, R"("a":"1.safetensors","b":"2.safetensors","d":"2.safetensors")");
  expectRefused(folder, ErrorCode::BadInput, {"'d'", "2.safetensors"});
  writeIndex(folder, R"("a":"1.safetensors","b":"2.safetensors","c":"2.safetensors")");
  expectRefused(folder, ErrorCode::BadInput, {"'c'", "2.safetensors"});
}

TEST(Checkpoint, ADirectoryWithoutModelIsNamed) {
  const TempFolder folder;
  expectRefused(folder, ErrorCode::Io, {folder.path.string(), "model.safetensors"});
}

TEST(Checkpoint, TheTinyGptOssOpensWithItsTensors) {
  const std::string shared = INF_SOURCE_DIR "/../shared";
  if (!std::filesystem::exists(shared))
    GTEST_SKIP() << "no ../shared folder beside the repository";
  const auto checkpoint = Checkpoint::open(shared + "/models/gpt-oss-tiny");
  EXPECT_EQ(checkpoint->tensors().size(), 58u + 59u);
  const TensorInfo *embedding = checkpoint->find("model.embed_tokens.weight");
  ASSERT_NE(embedding, nullptr);
  EXPECT_EQ(embedding->dtype, DType::BF16);
  EXPECT_EQ(embedding->shape, (std::vector<uint64_t>{4096, 192}));
  const WeightDecl decl = {
      "gate_up",
      16,
      384,
      192,
      {{"model.layers.3.mlp.experts.gate_up_proj_blocks",
        "model.layers.3.mlp.experts.gate_up_proj_scales", WeightFormat::MXFP4, 384, false, true}}};
  std::vector<float> rows(384 * 192);
  readRowsF32(decl, *checkpoint, 15, 0, 384, rows.data()); // every range inside, every value finite
}

} // namespace
} // namespace inf
