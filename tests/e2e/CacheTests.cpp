// What infrun keeps of models that it compiled: found, shared, repaired, thrown out.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cpu/Features.h"
#include "runtime/jit/ModelCache.h"
#include "runtime/jit/SourceIdentity.h"
#include "tests/e2e/CheckpointCopy.h"
#include "tests/e2e/Models.h"
#include "tests/runtime/format/TestSupport.h"

using namespace inf;
using namespace inf::test;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

class Cache : public testing::Test {
protected:
  TempFolder folder;
  std::string directory = folder / "cache";

  Finished runTiny(const Arguments &more = {}) const {
    Arguments arguments = {tinyModel, "--target=avx2", "--ids=491,475", "--max-tokens=4",
                           "--cache-dir=" + directory};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return infrun(arguments);
  }
  std::vector<ModelCache::Entry> entries() const { return ModelCache({directory}).list(); }
  std::string onlyEntry() const {
    EXPECT_EQ(entries().size(), 1u);
    return directory + "/" + entries().at(0).key + ".so";
  }
  /// An entry made of a compiled model, without compiling.
  ModelCache::Held put(const ModelCache &cache, const std::string &key) const {
    return cache.findOrMake(key, "copy", [](const std::string &path) {
      fs::copy_file(tinyDefault("avx2"), path, fs::copy_options::overwrite_existing);
    });
  }
};

void flipByte(const std::string &path, uint64_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(std::streamoff(offset));
  const int byte = file.get();
  file.seekp(std::streamoff(offset));
  file.put(static_cast<char>(byte ^ 1));
}

void setLastUse(const std::string &directory, const std::string &key, int hoursAgo) {
  fs::last_write_time(directory + "/" + key + ".json",
                      fs::file_time_type::clock::now() - std::chrono::hours(hoursAgo));
}

std::string keyOf(const JitSource &source) {
  return sourceKey(source, INF_COMPILER_PATH, FeatureSet{});
}

} // namespace

TEST_F(Cache, aSecondStartTakesWhatTheFirstCompiled) {
  const Finished first = runTiny();
  ASSERT_EQ(first.code, 0) << first.err;
  const auto written = fs::last_write_time(onlyEntry());
  EXPECT_EQ(runTiny().out, first.out);
  EXPECT_EQ(fs::last_write_time(onlyEntry()), written) << "not compiled again";
  EXPECT_THAT(entries()[0].about, HasSubstr("gpt-oss-tiny --target=avx2"));
}

TEST_F(Cache, aDamagedEntryIsMadeAgain) {
  const Finished first = runTiny();
  const std::string path = onlyEntry();
  const uint64_t size = fs::file_size(path);
  const uint64_t code = 5000, weights = size - 5000;
  for (const uint64_t offset : {code, weights}) {
    flipByte(path, offset);
    const Finished again = runTiny();
    EXPECT_EQ(again.out, first.out) << "byte " << offset;
    EXPECT_EQ(run("/usr/bin/cmp", {path, tinyDefault("avx2")}).code, 0) << "byte " << offset;
  }
  fs::resize_file(path, size / 2);
  EXPECT_EQ(runTiny().out, first.out);
  EXPECT_EQ(fs::file_size(onlyEntry()), size);
  fs::remove(fs::path(path).replace_extension(".json"));
  EXPECT_EQ(runTiny().out, first.out);
  EXPECT_TRUE(fs::exists(fs::path(path).replace_extension(".json")));
}

TEST_F(Cache, codeThatChangedWithItsTimePutBackIsStillFound) {
  runTiny();
  const std::string path = onlyEntry();
  const auto written = fs::last_write_time(path);
  flipByte(path, 5000);
  fs::last_write_time(path, written);
  EXPECT_FALSE(ModelCache({directory}).find(fs::path(path).stem().string()));
}

TEST_F(Cache, processesThatRaceCompileOnce) {
  std::vector<Finished> finished(4);
  {
    std::vector<std::jthread> threads;
    for (Finished &one : finished)
      threads.emplace_back([&] { one = runTiny({"--threads=1"}); });
  }
  for (const Finished &one : finished) {
    EXPECT_EQ(one.code, 0) << one.err;
    EXPECT_EQ(one.out, finished[0].out);
  }
  onlyEntry();
  for (const auto &file : fs::directory_iterator(directory))
    EXPECT_TRUE(file.path().extension() == ".so" || file.path().extension() == ".json")
        << file.path();
}

TEST_F(Cache, whatWasUnusedForLongestIsThrownOut) {
  const uint64_t bytes = fs::file_size(tinyDefault("avx2"));
  const ModelCache cache({directory, bytes * 5 / 2});
  for (const char *key : {"a", "b"})
    put(cache, key);
  setLastUse(directory, "a", 1);
  setLastUse(directory, "b", 2);
  put(cache, "c");
  EXPECT_TRUE(cache.find("a"));
  EXPECT_FALSE(cache.find("b"));
  EXPECT_TRUE(cache.find("c"));
}

TEST_F(Cache, whatRunsIsNotThrownOut) {
  const ModelCache cache({directory, 0});
  const ModelCache::Held held = put(cache, "a");
  put(cache, "b");
  EXPECT_EQ(cache.list().size(), 2u) << "a is held, b is the newest";
  EXPECT_EQ(cache.clear(), fs::file_size(tinyDefault("avx2")));
  EXPECT_TRUE(cache.find("a"));
}

TEST_F(Cache, anUnwritableCacheIsSaidAndTheModelStillRuns) {
  const Finished first = runTiny();
  std::ofstream(folder / "file") << "x";
  directory = folder / "file/cache";
  const Finished second = runTiny();
  EXPECT_EQ(second.code, 0);
  EXPECT_EQ(second.out, first.out);
  EXPECT_THAT(second.err, HasSubstr("warning: no cache: "));
  EXPECT_THAT(second.err, HasSubstr("Compiling in memory."));
}

TEST_F(Cache, aCacheThatOthersCanWriteIsNotUsed) {
  fs::create_directory(directory);
  fs::permissions(directory, fs::perms::all);
  EXPECT_THAT(runTiny().err, HasSubstr("can be written by others"));
  EXPECT_TRUE(fs::is_empty(directory));
}

TEST_F(Cache, theListSaysWhatIsThereAndClearRemovesIt) {
  runTiny();
  const Finished list = infrun({"cache", "list", "--cache-dir=" + directory});
  EXPECT_THAT(list.out, HasSubstr("gpt-oss-tiny --target=avx2"));
  EXPECT_EQ(infrun({"cache", "clear", "--cache-dir=" + directory}).code, 0);
  EXPECT_TRUE(fs::is_empty(directory));
  EXPECT_EQ(infrun({"cache", "burn", "--cache-dir=" + directory}).code, 2);
}

TEST(SourceKey, dependsOnContentOptionsAndCompiler) {
  CheckpointCopy copy;
  const JitSource source = {copy.path(), "avx2", "", "", "", ""};
  const std::string key = keyOf(source);
  EXPECT_EQ(keyOf(source), key);
  JitSource other = source;
  other.quant = "int4";
  EXPECT_NE(keyOf(other), key);
  EXPECT_NE(sourceKey(source, INFC_PATH, FeatureSet{}), key) << "another compiler";
  copy.editJson("generation_config.json", [](nlohmann::ordered_json &json) { json["x"] = 1; });
  EXPECT_NE(keyOf(source), key);
}

TEST(SourceKey, ofADescriptionTakesInWhatItNames) {
  CheckpointCopy copy;
  TempFolder folder;
  const std::string json = folder / "model.json";
  ASSERT_EQ(infc({"import", copy.path(), "-o", json}).code, 0);
  const std::string key = keyOf({json, "avx2", "", "", "", ""});
  copy.editJson("tokenizer.json", [](nlohmann::ordered_json &edited) { edited["x"] = 1; });
  EXPECT_NE(keyOf({json, "avx2", "", "", "", ""}), key);
}

TEST(SourceKey, ofLargeFilesGoesByTheirTimeAndSize) {
  TempFolder folder;
  const std::string path = folder / "large.gguf";
  std::ofstream(path) << "GGUF";
  fs::resize_file(path, 40 << 20);
  const std::string key = keyOf({path, "", "", "", "", ""});
  fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(1));
  EXPECT_NE(keyOf({path, "", "", "", "", ""}), key);
}

TEST(SourceKey, ofTheNativeTargetDependsOnTheMachine) {
  const JitSource native = {tinyModel, "", "", "", "", ""},
                  named = {tinyModel, "avx2", "", "", "", ""};
  const FeatureSet one = FeatureSet{}.with(Feature::AVX2);
  EXPECT_NE(sourceKey(native, INF_COMPILER_PATH, one), keyOf(native));
  EXPECT_EQ(sourceKey(named, INF_COMPILER_PATH, one), keyOf(named));
}
