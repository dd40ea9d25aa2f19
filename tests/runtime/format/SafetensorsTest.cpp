#include "runtime/format/Safetensors.h"
#include "tests/runtime/format/TestSupport.h"

namespace inf {
namespace {

using namespace test;

std::string fileWith(const std::string &header, uint64_t dataBytes) {
  const uint64_t length = header.size();
  std::string file(reinterpret_cast<const char *>(&length), 8);
  file += header;
  file.append(dataBytes, 'x');
  return file;
}

void expectRefused(const std::string &file, const std::vector<std::string> &parts) {
  SCOPED_TRACE(file.substr(0, 200));
  const TempFolder folder;
  writeBytes(folder / "f.safetensors", file);
  expectFailure(ErrorCode::BadInput, parts,
                [&] { SafetensorsFile::open(folder / "f.safetensors"); });
}

std::string entry(const std::string &name, const std::string &dtype, const std::string &shape,
                  const std::string &offsets) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{}]}})", name, dtype,
                     shape, offsets);
}

TEST(Safetensors, WrittenFilesReadBack) {
  const TempFolder folder;
  const std::vector<uint8_t> a = {1, 2, 3, 4, 5, 6}, b = {9};
  writeSafetensors(folder / "f", {{"a", DType::BF16, {3, 1}, a},
                                  {"empty", DType::F32, {0, 7}, {}},
                                  {"scalar", DType::U8, {}, b}});
  const auto file = SafetensorsFile::open(folder / "f");
  ASSERT_EQ(file.tensors().size(), 3u);
  ASSERT_NE(file.find("a"), nullptr);
  EXPECT_EQ(file.find("a")->shape, (std::vector<uint64_t>{3, 1}));
  const auto data = file.data(*file.find("a"));
  EXPECT_EQ(std::vector<uint8_t>(data.begin(), data.end()), a);
  EXPECT_EQ(file.data(*file.find("scalar"))[0], 9);
  EXPECT_EQ(file.find("empty")->bytes, 0u);
  EXPECT_EQ(file.find("nothing"), nullptr);
  EXPECT_THAT(folder.names(), testing::ElementsAre("f"));
}

TEST(Safetensors, WritingRefusesWhatCouldNotBeReadBack) {
  const TempFolder folder;
  const std::vector<uint8_t> bytes(4);
  const auto refuse = [&](const std::vector<TensorToWrite> &tensors, const char *part) {
    expectFailure(ErrorCode::BadInput, {part}, [&] { writeSafetensors(folder / "f", tensors); });
  };
  refuse({{"a", DType::F32, {2}, bytes}}, "expected 8");
  refuse({{"a", DType::F32, {1}, bytes}, {"a", DType::F32, {1}, bytes}}, "twice");
  refuse({{"__metadata__", DType::F32, {1}, bytes}}, "__metadata__");
  refuse({{"a", DType::F32, {1ull << 33, 1ull << 33}, bytes}}, "64 bits");
  EXPECT_TRUE(folder.names().empty());
}

TEST(Safetensors, AFileCutShortAtAnyByteIsRefused) {
  const std::string whole =
      fileWith("{" + entry("a", "BF16", "2", "0,4") + "," + entry("b", "U8", "3", "4,7") + "}", 7);
  const TempFolder folder;
  for (size_t size = 0; size < whole.size(); ++size) {
    writeBytes(folder / "f", whole.substr(0, size));
    EXPECT_THROW(SafetensorsFile::open(folder / "f"), Error) << size;
  }
  writeBytes(folder / "f", whole);
  EXPECT_NO_THROW(SafetensorsFile::open(folder / "f"));
}

TEST(Safetensors, AHeaderLongerThanTheFileIsRefused) {
  for (uint64_t length : {uint64_t(100), uint64_t(1) << 40, ~uint64_t(0), ~uint64_t(0) - 7}) {
    std::string file = fileWith("{}", 0);
    std::memcpy(file.data(), &length, 8);
    expectRefused(file, {fmt::format("header of {} bytes", length), "expected"});
  }
}

TEST(Safetensors, PlacesThatOverlapReverseOrLeaveTheFileAreRefused) {
  const auto two = [](const char *first, const char *second) {
    return "{" + entry("a", "U8", "4", first) + "," + entry("b", "U8", "4", second) + "}";
  };
  expectRefused(fileWith(two("0,4", "2,6"), 8), {"'b'", "overlap"});
  expectRefused(fileWith(two("0,4", "0,4"), 8), {"overlap"});
  expectRefused(fileWith(two("0,4", "5,9"), 9), {"'b'", "a hole"});
  expectRefused(fileWith(two("1,5", "5,9"), 9), {"'a'", "a hole"});
  expectRefused(fileWith(two("4,0", "4,8"), 8), {"'a'", "[4, 0]", "begin <= end"});
  expectRefused(fileWith(two("0,4", "4,8"), 7), {"'b'", "expected begin <= end <= 7"});
  expectRefused(fileWith(two("0,4", "4,8"), 9), {"end at byte", "file's end"});
  expectRefused(fileWith(two("0,4", "4,18446744073709551615"), 8), {"'b'"});
  expectRefused(fileWith(two("-4,0", "0,4"), 4), {"'a'", "non-negative"});
  expectRefused(fileWith(two("0,4,8", "4,8"), 8), {"3 numbers, expected 2"});
}

TEST(Safetensors, ShapesThatDoNotGiveTheBytesAreRefused) {
  expectRefused(fileWith("{" + entry("a", "BF16", "3", "0,4") + "}", 4),
                {"'a'", "4 bytes, expected 6"});
  expectRefused(fileWith("{" + entry("a", "F32", "4611686018427387904,4", "0,0") + "}", 0),
                {"'a'", "64 bits"});
  expectRefused(fileWith("{" + entry("a", "F32", "-1", "0,4") + "}", 4), {"shape", "non-negative"});
  expectRefused(fileWith("{" + entry("a", "F32", "1.0", "0,4") + "}", 4), {"shape"});
  expectRefused(fileWith("{" + entry("a", "F9", "1", "0,4") + "}", 4), {"'F9'"});
}

TEST(Safetensors, JsonThatIsNoObjectOfTensorsIsRefused) {
  const std::string a = entry("a", "U8", "1", "0,1");
  expectRefused(fileWith("", 0), {"expected JSON"});
  expectRefused(fileWith("[]", 0), {"array, expected an object"});
  expectRefused(fileWith("{\"a\":3}", 0), {"'a'", "expected an object"});
  expectRefused(fileWith("{" + a + "," + a + "}", 1), {"key 'a' twice"});
  expectRefused(
      fileWith(R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1),
      {"key 'dtype' twice"});
  expectRefused(fileWith(R"({"a":{"dtype":"U8","shape":[1]}})", 1), {"data_offsets", "missing"});
  expectRefused(fileWith(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})", 1),
                {"x", "unknown key"});
  expectRefused(fileWith("{" + a + "} {}", 1), {"expected JSON"});
  expectRefused(fileWith(R"({"__metadata__":[]})", 0), {"__metadata__"});
  expectRefused(fileWith(R"({"__metadata__":{"a":1}})", 0), {"__metadata__.a"});
  expectRefused(fileWith("{\"\xff\":1}", 0), {"expected JSON"});
  expectRefused(fileWith("{\"a\":" + std::string(100000, '['), 0), {"nested deeper"});
}

TEST(Safetensors, AMissingFileAFolderAndAnEmptyFileAreRefused) {
  const TempFolder folder;
  expectFailure(ErrorCode::Io, {"No such file"}, [&] { SafetensorsFile::open(folder / "none"); });
  expectFailure(ErrorCode::Io, {"regular file"}, [&] { SafetensorsFile::open(folder / "."); });
  expectRefused("", {"0 bytes"});
}

} // namespace
} // namespace inf
