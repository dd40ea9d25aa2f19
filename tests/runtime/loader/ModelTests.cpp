// Loading: what a good file gives, and by which words every bad one is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "runtime/abi/inf_abi.h"
#include "runtime/loader/Model.h"
#include "tests/runtime/session/FakeModel.h"
#include "tests/runtime/session/fake_model.h"

using namespace inf;
using namespace inf::test;
using testing::AllOf;
using testing::HasSubstr;

namespace {

std::string loadRefusal(const FakeOptions &options, const LoadOptions &load = {}) {
  TempDirectory directory;
  std::string path = directory.file("fake.so");
  writeFakeModel(path, options);
  return refusal([&] { Model::load(path, load); });
}

std::string changedRefusal(const std::function<void(PayloadContents &)> &change) {
  FakeOptions options;
  options.change = change;
  LoadOptions load;
  load.machine = MachineFacts{{~uint64_t{0}}, "a machine with everything"};
  return loadRefusal(options, load);
}

std::string variantRefusal(const std::string &code) {
  FakeOptions options;
  options.code = code;
  return loadRefusal(options);
}

} // namespace

TEST(Model, aGoodFileGivesItsCodeManifestTokenizerAndWeights) {
  TempDirectory directory;
  std::string path = directory.file("fake.so");
  writeFakeModel(path);
  std::shared_ptr<const Model> model = Model::load(path);
  EXPECT_EQ(model->path(), path);
  EXPECT_EQ(model->code().vocabulary, static_cast<uint32_t>(FAKE_VOCABULARY));
  EXPECT_EQ(model->manifest().modelName, "fake");
  ASSERT_NE(model->tokenizer(), nullptr);
  EXPECT_EQ(model->tokenizer()->vocabularySize(), fakeTokens);

  PayloadInfo info = readPayloadInfo(path, INF_ABI_VERSION);
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(info.fileOffset + info.header.weightsOffset));
  std::string stored(info.header.weightsBytes, '\0');
  file.read(stored.data(), static_cast<std::streamsize>(stored.size()));
  ASSERT_EQ(model->weights().size(), stored.size());
  EXPECT_EQ(std::memcmp(model->weights().data(), stored.data(), stored.size()), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(model->weights().data()) % 64, 0u);
}

TEST(Model, aRelativePathIsLoaded) {
  TempDirectory directory;
  writeFakeModel(directory.file("fake.so"));
  std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(std::filesystem::path(directory.file("x")).parent_path());
  EXPECT_EQ(refusal([] { Model::load("fake.so"); }), "not refused");
  std::filesystem::current_path(before);
}

TEST(Model, onAFilesystemThatIsSlowToMapItIsCopiedOrWarns) {
  TempDirectory directory;
  std::string path = directory.file("fake.so");
  writeFakeModel(path);
  LoadOptions options;
  options.filesystem = 0x01021997; // 9p
  EXPECT_EQ(Model::load(path, options)->loadChoice().mode, LoadMode::Copy);
  options.mode = LoadMode::Map;
  EXPECT_THAT(Model::load(path, options)->loadChoice().warning, HasSubstr("9p"));
  options.filesystem = 0xef53; // ext4
  EXPECT_EQ(Model::load(path, options)->loadChoice().warning, "");
}

TEST(Model, twoModelsLiveSideBySide) {
  auto one = loadFakeModel(), two = loadFakeModel();
  EXPECT_NE(&one->code(), &two->code());
  one.reset();
  EXPECT_EQ(two->code().magic, INF_ABI_MAGIC);
}

TEST(ModelRefusals, lackingFeaturesAreMachineErrorsBeforeAnyCodeRuns) {
  FakeOptions options;
  options.code = "fake_model_null_table"; // its code would be refused in other words
  options.change = [](PayloadContents &contents) {
    contents.manifest.target = "avx512";
    contents.manifest.featureBits = FeatureSet{}.with(Feature::AVX512F).bits;
  };
  LoadOptions load;
  load.machine = MachineFacts{FeatureSet{}.with(Feature::AVX2).with(Feature::FMA), "Old CPU"};
  EXPECT_THAT(loadRefusal(options, load), AllOf(HasSubstr("3: "), HasSubstr("avx512f"),
                                                HasSubstr("Old CPU"), HasSubstr("--target=avx2")));
}

TEST(ModelRefusals, aModelWithoutWeightsSaysHowToAddThem) {
  FakeOptions options;
  options.weights = false;
  EXPECT_THAT(loadRefusal(options), AllOf(HasSubstr("4: "), HasSubstr("infrun fill")));
}

TEST(ModelRefusals, anotherAbiVersionInThePayload) {
  EXPECT_THAT(changedRefusal([](PayloadContents &contents) {
                contents.manifest.abiVersion = INF_ABI_VERSION + 1;
              }),
              HasSubstr("4: "));
}

TEST(ModelRefusals, codeAndPayloadOfTwoCompilations) {
  EXPECT_THAT(changedRefusal([](PayloadContents &contents) { contents.buildId[1] ^= 1; }),
              AllOf(HasSubstr("4: "), HasSubstr("build id")));
  EXPECT_THAT(changedRefusal([](PayloadContents &contents) { contents.manifest.hidden = 25; }),
              HasSubstr("payload says hidden = 25, its code says 24"));
  EXPECT_THAT(changedRefusal([](PayloadContents &contents) { contents.manifest.maxContext = 1; }),
              HasSubstr("max_context"));
  EXPECT_THAT(changedRefusal([](PayloadContents &c) { c.manifest.kvGroups[1].window = 21; }),
              HasSubstr("kv_group.window"));
  EXPECT_THAT(changedRefusal([](PayloadContents &c) { c.manifest.kvGroups[0].layers = {2}; }),
              HasSubstr("kv_group.layers"));
  EXPECT_THAT(changedRefusal([](PayloadContents &c) { c.manifest.kvGroups.pop_back(); }),
              HasSubstr("kv_groups"));
  EXPECT_THAT(changedRefusal(
                  [](PayloadContents &c) { c.manifest.ropeTables[0].inverseFrequencies[1] = 0.3; }),
              HasSubstr("rope.inverse_frequencies"));
  EXPECT_THAT(changedRefusal([](PayloadContents &c) { c.manifest.plan.arenaBytes = 512; }),
              HasSubstr("plan.arena_bytes"));
  EXPECT_THAT(changedRefusal([](PayloadContents &c) { c.manifest.featureBits = 2; }),
              HasSubstr("feature bits"));
}

TEST(ModelRefusals, codeThatBreaksTheContract) {
  EXPECT_THAT(variantRefusal("fake_model_no_symbol"),
              AllOf(HasSubstr("4: "), HasSubstr("does not export inf_model_query")));
  EXPECT_THAT(variantRefusal("fake_model_null_table"),
              HasSubstr(fmt::format("does not serve ABI version {}", INF_ABI_VERSION)));
  EXPECT_THAT(variantRefusal("fake_model_other_version"), HasSubstr("inf_model.version"));
  EXPECT_THAT(variantRefusal("fake_model_short_struct"), HasSubstr("inf_model.struct_bytes"));
  EXPECT_THAT(variantRefusal("fake_model_odd_stride"), HasSubstr("logits_stride"));
  EXPECT_THAT(variantRefusal("fake_model_wide_slots"), HasSubstr("block_bytes is all slots'"));
}

TEST(ModelRefusals, aTokenizerBeyondTheVocabulary) {
  EXPECT_THAT(changedRefusal([](PayloadContents &contents) {
                std::string &json = contents.tokenizerJson;
                std::string last = "\"id\": 259";
                json.replace(json.find(last), last.size(), "\"id\": 300");
              }),
              AllOf(HasSubstr("4: "), HasSubstr("ids up to 300"), HasSubstr("272")));
}

TEST(ModelRefusals, aBrokenTokenizer) {
  EXPECT_THAT(changedRefusal([](PayloadContents &contents) { contents.tokenizerJson = "{"; }),
              HasSubstr("4: "));
}

TEST(ModelRefusals, aFileCutAnywhere) {
  TempDirectory directory;
  std::string path = directory.file("fake.so");
  writeFakeModel(path);
  uint64_t size = std::filesystem::file_size(path);
  for (uint64_t cut : {uint64_t{0}, uint64_t{3}, uint64_t{64}, size / 4, size / 2, size - 1}) {
    std::filesystem::remove(directory.file("cut.so"));
    std::filesystem::copy_file(path, directory.file("cut.so"));
    std::filesystem::resize_file(directory.file("cut.so"), cut);
    EXPECT_THAT(refusal([&] { Model::load(directory.file("cut.so")); }), HasSubstr("4: ")) << cut;
  }
}

TEST(ModelRefusals, aMissingFileAndAFileThatIsNoModel) {
  EXPECT_THAT(refusal([] { Model::load("/nowhere/model.so"); }), HasSubstr("5: "));
  EXPECT_THAT(refusal([] { Model::load("/proc/self/exe"); }), HasSubstr("4: "));
}
