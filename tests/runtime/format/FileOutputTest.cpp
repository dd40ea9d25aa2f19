#include <csignal>

#include <sys/resource.h>

#include "runtime/format/FileOutput.h"
#include "runtime/format/Safetensors.h"
#include "tests/runtime/format/FileSizeLimit.h"
#include "tests/runtime/format/TestSupport.h"

namespace inf {
namespace {

using namespace test;

TEST(AtomicFile, ShowsItsNameOnlyAfterCommit) {
  const TempFolder folder;
  writeBytes(folder / "f", std::string("old"));
  {
    AtomicFile file(folder / "f");
    file.append(std::vector<uint8_t>{1, 2, 3});
    file.appendZeros(2);
    file.patch(1, std::vector<uint8_t>{9});
    EXPECT_EQ(file.size(), 5u);
    EXPECT_EQ(readBytes(folder / "f"), (std::vector<uint8_t>{'o', 'l', 'd'}));
    file.commit();
  }
  EXPECT_EQ(readBytes(folder / "f"), (std::vector<uint8_t>{1, 9, 3, 0, 0}));
  EXPECT_THAT(folder.names(), testing::ElementsAre("f"));
}

TEST(AtomicFile, LeavesWhatWasThereWhenNotCommitted) {
  const TempFolder folder;
  writeBytes(folder / "f", std::string("old"));
  {
    AtomicFile file(folder / "f", 1 << 20);
    file.appendZeros(100000);
  }
  EXPECT_EQ(readBytes(folder / "f").size(), 3u);
  EXPECT_THAT(folder.names(), testing::ElementsAre("f"));
}

TEST(AtomicFile, TwoWritersOfOneNameDoNotMix) {
  const TempFolder folder;
  AtomicFile first(folder / "f"), second(folder / "f");
  first.append(std::vector<uint8_t>{1});
  second.append(std::vector<uint8_t>{2, 2});
  first.commit();
  second.commit();
  EXPECT_EQ(readBytes(folder / "f"), (std::vector<uint8_t>{2, 2}));
}

TEST(AtomicFile, GivesBackSpaceReservedBeyondTheEnd) {
  const TempFolder folder;
  AtomicFile file(folder / "f", 8 << 20);
  file.appendZeros(10);
  file.commit();
  EXPECT_EQ(std::filesystem::file_size(folder / "f"), 10u);
}

TEST(AtomicFile, AFolderThatDoesNotExistIsNamed) {
  expectFailure(ErrorCode::Io, {"/nowhere/at/all/f", "No such file"},
                [] { AtomicFile file("/nowhere/at/all/f"); });
}

TEST(AtomicFile, PatchingWhatWasNotWrittenIsRefused) {
  const TempFolder folder;
  AtomicFile file(folder / "f");
  file.appendZeros(4);
  expectFailure(ErrorCode::Internal, {"patch"}, [&] { file.patch(2, std::vector<uint8_t>(3)); });
}

TEST(AtomicFile, AFullDiskNamesPathAndBytesAndLeavesNothing) {
  const TempFolder folder;
  const FileSizeLimit limit(1000);
  const std::vector<uint8_t> bytes(5000);
  expectFailure(ErrorCode::Io, {folder / "f", "5000 bytes are needed"}, [&] {
    AtomicFile file(folder / "f", 5000);
    file.append(bytes);
    file.commit();
  });
  expectFailure(ErrorCode::Io, {folder / "g", "bytes are needed"}, [&] {
    writeSafetensors(folder / "g", {{"a", DType::U8, {5000}, bytes}});
  });
  EXPECT_TRUE(folder.names().empty());
}

} // namespace
} // namespace inf
