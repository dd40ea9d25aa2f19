#include <nlohmann/json.hpp>

#include "runtime/abi/inf_abi.h"
#include "runtime/format/Manifest.h"
#include "runtime/format/Payload.h"
#include "tests/runtime/format/SampleManifest.h"
#include "tests/runtime/format/TestSupport.h"

namespace inf {
namespace {

using namespace test;
using nlohmann::json;

/// The sample manifest with one value replaced must be refused with `parts` in the message.
void expectRefused(const char *pointer, const json &value, const std::vector<std::string> &parts) {
  SCOPED_TRACE(fmt::format("{} = {}", pointer, value.dump()));
  json changed = json::parse(manifestToJson(sampleManifest()));
  ASSERT_TRUE(changed.contains(json::json_pointer(pointer)));
  changed[json::json_pointer(pointer)] = value;
  expectFailure(ErrorCode::BadInput, parts, [&] { manifestFromJson(changed.dump()); });
}

TEST(Manifest, ReadsBackWhatWasWritten) {
  const std::string text = manifestToJson(sampleManifest());
  EXPECT_EQ(manifestToJson(manifestFromJson(text)), text);
  const Manifest read = manifestFromJson(text);
  EXPECT_EQ(read.ropeTables[0].inverseFrequencies, (std::vector<double>{1.0, 0.1 + 0.2}));
  EXPECT_EQ(read.weights[1].decl, sampleManifest().weights[1].decl);
  EXPECT_EQ(read.featureBits, ~uint64_t(0));
  EXPECT_NO_THROW(manifestFromJson(manifestToJson(Manifest())));
}

TEST(Manifest, KeysKeepTheOrderInWhichTheyAreWritten) {
  const std::string text = manifestToJson(sampleManifest());
  EXPECT_EQ(text.rfind("{\n  \"version\": 2,\n  \"abi_version\": 5,\n  \"model_name\"", 0), 0u);
}

TEST(Manifest, LayoutAlignsEveryWeightAndCountsPackedBytes) {
  const Manifest manifest = sampleManifest();
  uint64_t end = 0;
  for (const PackedWeight &weight : manifest.weights) {
    EXPECT_EQ(weight.offset, (end + 63) / 64 * 64);
    EXPECT_EQ(weight.bytes, packedBytes(weight.decl, weight.spec));
    end = weight.offset + weight.bytes;
  }
  EXPECT_EQ(manifest.weightsBytes, (end + 63) / 64 * 64);
}

TEST(Manifest, LayoutRefusesAWeightThatCanNotBePacked) {
  Manifest manifest = sampleManifest();
  manifest.weights[0].spec.format = WeightFormat::MXFP4;
  expectFailure(ErrorCode::BadInput, {manifest.weights[0].decl.name},
                [&] { layoutWeights(manifest); });
}

TEST(Manifest, EveryMissingOrUnknownOrDoubledKeyIsNamed) {
  const json whole = json::parse(manifestToJson(sampleManifest()));
  for (const auto &item : whole.items()) {
    json changed = whole;
    changed.erase(item.key());
    expectFailure(ErrorCode::BadInput, {"manifest." + item.key(), "missing"},
                  [&] { manifestFromJson(changed.dump()); });
    changed = whole;
    changed[item.key()] = json::object();
    expectFailure(ErrorCode::BadInput, {"manifest." + item.key()},
                  [&] { manifestFromJson(changed.dump()); });
  }
  json changed = whole;
  changed["weights"][1]["colour"] = 1;
  expectFailure(ErrorCode::BadInput, {"manifest.weights[1].colour", "unknown key"},
                [&] { manifestFromJson(changed.dump()); });
  expectFailure(ErrorCode::BadInput, {"'version' twice"},
                [] { manifestFromJson(R"({"version":1,"version":1})"); });
}

/// What another release wrote has other keys: its version is what counts.
TEST(Manifest, OfAnotherReleaseIsRefusedByItsVersionAndNotByItsKeys) {
  json older = json::parse(manifestToJson(sampleManifest()));
  older["version"] = 1;
  for (json &weight : older["weights"])
    weight.erase("format_from");
  for (json &stage : older["stages"])
    stage.erase("outputs");
  expectFailure(ErrorCode::BadInput,
                {"manifest version 1, expected 2", "older", "compile the model again"},
                [&] { manifestFromJson(older.dump()); });
  const json newer = {{"version", 3}, {"everything", "else"}};
  expectFailure(ErrorCode::BadInput, {"manifest version 3, expected 2", "newer", "update infrun"},
                [&] { manifestFromJson(newer.dump()); });
}

/// Else the fuzzer sees nothing but the refusal of its version.
TEST(Manifest, TheFuzzersSeedsAreGood) {
  const std::string corpus = INF_SOURCE_DIR "/tests/fuzz/corpus/";
  const std::vector<uint8_t> bytes = readBytes(corpus + "manifest/small");
  const std::string text(bytes.begin(), bytes.end());
  EXPECT_NO_THROW(manifestFromJson(text));
  EXPECT_NO_THROW(readPayloadInfo(corpus + "payload/small", INF_ABI_VERSION));
}

TEST(Manifest, ValuesThatCanNotBeAreNamed) {
  expectRefused("/vocabulary", -1, {"manifest.vocabulary", "non-negative"});
  expectRefused("/vocabulary", uint64_t(1) << 60, {"manifest.vocabulary", "at most"});
  expectRefused("/eos_tokens/0", 1000, {"manifest.eos_tokens", "1000"});
  expectRefused("/bos_token", -2, {"manifest.bos_token", "-2"});
  expectRefused("/weights/0/offset", 1, {"weights[0].offset", "multiple of 64"});
  expectRefused("/weights/1/offset", 0, {"weights[1].offset", "overlaps"});
  expectRefused("/weights/1/offset", uint64_t(1) << 62, {"weights[1].offset", "weights_bytes"});
  expectRefused("/weights/0/bytes", 3, {"weights[0].bytes", "3, expected"});
  expectRefused("/weights/0/rows", 0, {"weights[0].layout"});
  expectRefused("/weights/0/layout", "panels", {"weights[0].layout", "'panels'"});
  expectRefused("/weights/0/format", "int3", {"weights[0].format", "'int3'"});
  expectRefused("/weights/0/columns", uint64_t(1) << 63, {"weights[0]", "2^50"});
  expectRefused("/weights/1/name", "embedding", {"weights[1].name", "twice"});
  expectRefused("/weights/0/parts/0/rows", "9", {"weights[0].parts[0].rows", "string"});
  expectRefused("/weights/0/parts/0/transposed", 0, {"parts[0].transposed", "true or false"});
  expectRefused("/weights_bytes", 64, {"weights_bytes = 64"});
  expectRefused("/kv_groups/0/element_format", "f64", {"kv_groups[0].element_format", "'f64'"});
  expectRefused("/kv_groups/0/layers/1", 9, {"kv_groups[0].layers", "layer 9"});
  expectRefused("/rope_tables/0/head_dim", 6, {"rope_tables[0].inverse_frequencies"});
  expectRefused("/rope_tables/0/attention_factor", nullptr, {"attention_factor", "finite"});
  expectRefused("/plan/buffers/0/offset", 5000, {"buffers[0].offset", "arena_bytes"});
  expectRefused("/plan/buffers/0/first_use", 7, {"buffers[0].first_use"});
  expectRefused("/kernels/0/used_by/0", 1, {"kernels[0].used_by"});
  expectRefused("/weights/0/format_from", 1, {"weights[0].format_from", "string"});
  expectRefused("/stages/0/layer", 2, {"stages[0].layer"});
  expectRefused("/stages/0/outputs/0/type", "f64", {"outputs[0].type", "'f64'"});
  expectRefused("/stages/0/outputs/0/features", 33, {"outputs[0].features", "32 for q8"});
  expectRefused("/stages/0/outputs/0/vectors", 0, {"outputs[0].features", "at least one"});
}

TEST(Manifest, AnOutputOfAStageLiesInTheArena) {
  // 8 rows of 128 bytes each (32 codes padded to 64, a scale and a sum padded to 64) in 4096.
  for (const int64_t offset : {int64_t(32), int64_t(-64), int64_t(3136), INT64_MAX, INT64_MIN})
    expectRefused("/stages/0/outputs/0/offset", offset, {"outputs[0].offset", "arena"});
  expectRefused("/stages/0/outputs/0/vectors", 100, {"outputs[0].offset", "arena"});
  expectRefused("/stages/0/outputs/0/vectors", uint64_t(1) << 32, {"stages[0].outputs[0]"});
}

TEST(Manifest, TextThatIsNotJsonIsRefusedAtEveryLength) {
  const std::string text = manifestToJson(sampleManifest());
  for (size_t size = 0; size + 2 < text.size(); size += 7)
    EXPECT_THROW(manifestFromJson(std::string_view(text).substr(0, size)), Error) << size;
}

TEST(Manifest, NamesThatAreNotUtf8CanNotBeWritten) {
  Manifest manifest = sampleManifest();
  manifest.modelName.assign(1, char(0xff));
  expectFailure(ErrorCode::BadInput, {"UTF-8"}, [&] { manifestToJson(manifest); });
}

} // namespace
} // namespace inf
